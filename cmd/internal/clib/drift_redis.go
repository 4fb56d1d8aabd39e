//go:build !snowfence_no_redis

package clib

import (
	"errors"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/redisstore/workerid"
)

func register(r Registration) ([]int32, error) {
	numbers, err := workerid.TryRegisterMany(workerid.RegisterConf{
		Address: r.Address, Password: r.Password, DB: int(r.DB), MasterName: r.MasterName,
		MinWorkerId: r.Min, MaxWorkerId: r.Max, TotalCount: r.Count, LifeTimeSeconds: r.Life,
	})
	switch {
	case errors.Is(err, workerid.ErrShared):
		err = coded{Invalid, err}
	case errors.Is(err, workerid.ErrTaken):
		err = coded{Taken, err}
	}
	return numbers, err
}

func unRegister() { workerid.UnRegister() }

func validate(worker int32) bool { return workerid.Validate(worker) == 1 }

func fenceOf(worker int32, s *snowfence.Scheme) (*workerid.Fence, error) {
	return workerid.FenceOf(worker, s)
}
