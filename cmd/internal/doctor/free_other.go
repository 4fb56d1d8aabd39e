//go:build !linux

package doctor

import "errors"

func freeBytes(string) (int64, error) {
	return 0, errors.New("on Linux only, doctor asks how much of the disk is free")
}
