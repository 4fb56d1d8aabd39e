package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errNoPlace is why no state is kept beside a socket.
var errNoPlace = errors.New("no state is kept here")

// tmpfs is the magic number of a file system in memory. Its files end with the boot, and no backup
// or image has them. A number of a file comes again after four billion files at the earliest.
const tmpfs = 0x01021994

// takePlace locks the state of a path for this process, and says where it counts.
func takePlace(path string) (lock *os.File, here place, err error) {
	folder := filepath.Dir(path)
	here.Form = form
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return nil, here, fmt.Errorf("folder of the socket: %s: %w", folder, err)
	}
	if uint32(fs.Type) != tmpfs {
		return nil, here, fmt.Errorf("%w: %s is no tmpfs, as /run is", errNoPlace, folder)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if here.Boot = strings.TrimSpace(string(boot)); err != nil || here.Boot == "" {
		return nil, here, fmt.Errorf("%w: the kernel names no boot: %w", errNoPlace, err)
	}
	name := path + ".lock"
	if lock, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, here, fmt.Errorf("lock of the agent: %w", err)
	}
	if err = flock(lock); err == nil {
		here.Lock, err = numberOf(lock)
	}
	if err == nil {
		err = leadsTo(name, here.Lock)
	}
	if err != nil {
		return nil, here, errors.Join(fmt.Errorf("lock of the agent: %s: %w", name, err), lock.Close())
	}
	return lock, here, nil
}

// lockWait is how long an agent that was killed may take to end.
const lockWait = 2 * time.Second

// flock locks a file until it is closed.
func flock(file *os.File) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case time.Since(began) > lockWait:
			return errors.New("another agent has it: stop that one, or take another socket")
		}
	}
}

// leadsTo is an error if a name leads to another file than the one of that number, or to none: then
// another process may have locked that.
func leadsTo(name string, number [2]uint64) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	switch there, err := numberOf(file); {
	case err != nil:
		return err
	case there != number:
		return errors.New("it was replaced just now: start again")
	}
	return nil
}

// numberOf returns the device and the number of a file, which no other file of this boot has.
func numberOf(file *os.File) (n [2]uint64, err error) {
	info, err := file.Stat()
	if err != nil {
		return n, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return [2]uint64{uint64(st.Dev), st.Ino}, nil
}
