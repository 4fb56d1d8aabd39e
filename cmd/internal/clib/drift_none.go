//go:build snowfence_no_redis

package clib

import (
	"errors"

	"github.com/snowfence/snowfence"
)

type closable interface {
	snowfence.Fence
	Close() error
}

var errNoRedis = errors.New("this build has no driver for Redis (build tag snowfence_no_redis)")

func register(Registration) ([]int32, error) { return []int32{-1}, errNoRedis }

func unRegister() {}

func validate(int32) bool { return false }

func fenceOf(int32, *snowfence.Scheme) (closable, error) { return nil, errNoRedis }
