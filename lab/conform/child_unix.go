//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a group of its own: it may start others.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // it may have ended

// suspend stops all threads of a process until resume.
func suspend(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGSTOP) }

func resume(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGCONT) }
