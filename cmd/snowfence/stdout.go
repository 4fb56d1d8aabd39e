package main

import (
	"errors"
	"io"
	"os"
)

// stdoutOpen refuses to make IDs that nobody can get. A program that is started with its standard output closed gets /dev/null there from
// the Go runtime, for reading and writing; "> /dev/null" is for writing only.
func (p *program) stdoutOpen() error {
	file, ok := p.stdout.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return errors.New("standard output is closed: the IDs would be lost")
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(info, null) {
		return nil
	}
	if _, err := file.Read(make([]byte, 1)); err == io.EOF { // not the error of a file that is for writing only
		return errors.New("standard output is closed: the IDs would be lost; \"> /dev/null\" throws them away on purpose")
	}
	return nil
}
