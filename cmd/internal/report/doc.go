// Package report draws what an audit found, as a page and as a picture.
// Both show the same SVG charts, in the colours of the dashboard.
package report
