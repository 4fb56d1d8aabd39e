// Package report draws what an audit found, as a page and as a picture.
package report
