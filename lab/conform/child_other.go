//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() } // it may have ended

var errSuspend = errors.New("a process that stands still: this system cannot stop one and let it go on")

func suspend(*os.Process) error { return errSuspend }

func resume(*os.Process) error { return errSuspend }
