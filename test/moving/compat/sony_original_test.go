package compat

import "testing"

// sonyAddress is there because this machine may have no private address.
const sonyAddress = `package sonyflake

func privateAddress() (int, error) { return 4711, nil }
`

// What of their tests reads private fields compiles where the layer has
// fields of these names.
const sonyGlue = `package sonyflake

import "net"

const defaultBitsMachine = 16

var defaultInterfaceAddrs = net.InterfaceAddrs

func lower16BitPrivateIP(func() ([]net.Addr, error)) (int, error) { return privateAddress() }
`

const sonyGlueV1 = `package sonyflake

import (
	"net"
	"time"
)

const sonyflakeTimeUnit = 1e7

var defaultInterfaceAddrs = net.InterfaceAddrs

func lower16BitPrivateIP(func() ([]net.Addr, error)) (uint16, error) { return 4711, nil }

func toSonyflakeTime(t time.Time) int64 { return t.UnixNano() / sonyflakeTimeUnit }
`

// A bubble begins in the year 2000, which is before the default StartTime.
// A StartTime that is a whole time unit would make their tests of times
// fail, also with the original.
const sonyBefore = `time.Sleep(time.Until(time.Date(2026, 5, 4, 3, 2, 1, 123456, time.UTC)))`

func TestSonyflakeOwnTests(t *testing.T) {
	const (
		moves = "moves the private start time of an instance that makes IDs"
		calls = "calls a private function; package nodes has tests of it"
	)
	original{
		module: "github.com/sony/sonyflake/v2", layer: "sonyflake",
		files: map[string]string{"sonyflake/address.go": sonyAddress, "sonyflake/original_glue_test.go": sonyGlue},
		out: map[string]string{
			"TestNextID_ReturnsError": moves, "pseudoSleep": moves,
			"TestPrivateIPv4": calls, "TestLower16BitPrivateIP": calls,
		},
		bubbles: []string{"TestNextID", "TestNextID_InSequence", "TestNextID_InParallel", "TestToTime"},
		before:  sonyBefore,
	}.run(t)
	original{
		module: "github.com/sony/sonyflake", layer: "sonyflake/v1",
		files: map[string]string{"sonyflake/address.go": sonyAddress, "sonyflake/v1/original_glue_test.go": sonyGlueV1},
		out: map[string]string{
			"TestNextIDError": moves, "pseudoSleep": moves,
			"TestPrivateIPv4": calls, "TestLower16BitPrivateIP": calls,
			"TestSonyflakeTimeUnit": "reads a private constant",
		},
		bubbles: []string{"TestSonyflakeOnce", "TestSonyflakeFor10Sec", "TestSonyflakeInParallel"},
		before:  sonyBefore + "; theirInit()",
	}.run(t)
}
