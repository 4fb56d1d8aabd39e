package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// FromEnv reads a decimal number from an environment variable: the number
// of a zone, the index of an indexed job (JOB_COMPLETION_INDEX), or the
// instance of a systemd template unit. Two processes with the same
// environment get the same number.
func FromEnv(name string) Source {
	return Func("environment variable "+name, func(context.Context) (int64, error) {
		text, ok := os.LookupEnv(name)
		switch {
		case !ok:
			return 0, errors.New("it is not set: set it to a number that no other process has")
		case text == "":
			return 0, errors.New("it is empty: set it to a number that no other process has")
		}
		return nodeNumber(text)
	})
}

// FromFile reads a decimal number from a file that holds nothing else, such
// as a file that an installer wrote, a mounted ConfigMap, or a pod label
// from the downward API. Machines from one image get the same number.
func FromFile(path string) Source {
	return Func("file "+path, func(context.Context) (int64, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return 0, fmt.Errorf("it cannot be read: %w", err)
		}
		text := strings.TrimSpace(string(data))
		if text == "" {
			return 0, errors.New("it is empty: write a number into it that no other machine has")
		}
		return nodeNumber(text)
	})
}

func nodeNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("it is %.48q, not a whole number from 0 up", text)
	}
	return n, nil
}

// FromOrdinal reads the ordinal of a Kubernetes StatefulSet: the
// environment variable POD_INDEX, if it is set (from the pod's label
// apps.kubernetes.io/pod-index), otherwise the end of the host name: 7 of
// web-7. Pods of one StatefulSet have different ordinals while all nodes of
// the cluster answer. They can be equal after a forced deletion, when a pod
// that is cut off still runs beside its successor. Two StatefulSets both
// begin at 0. Outside Kubernetes, a name such as host-2 guarantees nothing.
// Names of addresses (ip-10-0-3-17) and of other pods are errors.
func FromOrdinal() Source { return ordinalOf(os.Hostname) }

func ordinalOf(hostname func() (string, error)) Source {
	return Func("the ordinal of the pod", func(context.Context) (int64, error) {
		if index := os.Getenv("POD_INDEX"); index != "" {
			return nodeNumber(index)
		}
		host, err := hostname()
		if err != nil {
			return 0, fmt.Errorf("the host name cannot be read: %w", err)
		}
		return ordinal(host)
	})
}

var address = regexp.MustCompile(`(^|\D)\d+(-\d+){3}$`)

// ordinal reads the number at the end of a host name's first label.
func ordinal(host string) (int64, error) {
	label, _, _ := strings.Cut(host, ".")
	const remedy = "run as a StatefulSet, whose pods have names such as web-0, or lease the node"
	i := strings.LastIndexByte(label, '-')
	digits := label[i+1:]
	switch {
	case i < 1 || digits == "" || strings.Trim(digits, "0123456789") != "":
		return 0, fmt.Errorf("host name %.48q has no ordinal: %s", host, remedy)
	case address.MatchString(label):
		return 0, fmt.Errorf("host name %.48q ends in an address, which is no ordinal: %s", host, remedy)
	case len(digits) > 1 && digits[0] == '0':
		return 0, fmt.Errorf("host name %.48q ends in %s, which no StatefulSet gives: "+
			"ordinals have no leading zeros: %s", host, digits, remedy)
	case len(digits) == 5 && strings.Trim(digits, "2456789") == "": // as Kubernetes makes suffixes
		return 0, fmt.Errorf("host name %.48q ends at random, as that of a Deployment's pod: %s", host, remedy)
	}
	return nodeNumber(digits)
}

// FromIPv4 takes the lowest bits, 1 to 32, of this machine's private IPv4
// address. With 16 it is the rule of Sonyflake 1.3 and 2: the first address
// that the system lists, not loopback, and private (10/8, 172.16/12,
// 192.168/16) or link-local (169.254/16). Sonyflake up to 1.2 skips
// link-local ones.
//
// Use it only if you already have such IDs. Two processes get the same
// number on one machine, in networks larger than the bits (10.1.0.7 and
// 10.2.0.7 with 16), on two hosts with container bridges of the same range,
// and when an address moves to another machine. Better lease the number,
// too (Options.Guard of package lease).
func FromIPv4(bits int) Source { return ipv4Of(bits, net.InterfaceAddrs) }

func ipv4Of(bits int, addrs func() ([]net.Addr, error)) Source {
	name := fmt.Sprintf("the lowest %d bits of the private IPv4 address", bits)
	return Func(name, func(context.Context) (int64, error) {
		if bits < 1 || bits > 32 {
			return 0, errors.New("an address has 32 bits: take 1 to 32")
		}
		ip, err := privateIPv4(addrs)
		if err != nil {
			return 0, err
		}
		n := int64(ip[0])<<24 | int64(ip[1])<<16 | int64(ip[2])<<8 | int64(ip[3])
		return n & (1<<bits - 1), nil
	})
}

// privateIPv4 returns the address that Sonyflake takes.
func privateIPv4(addrs func() ([]net.Addr, error)) (net.IP, error) {
	list, err := addrs()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine cannot be read: %w", err)
	}
	var others []string
	for _, a := range list {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() {
			continue
		}
		if ip := n.IP.To4(); ip != nil && (ip.IsPrivate() || ip.IsLinkLocalUnicast()) {
			return ip, nil
		}
		others = append(others, n.IP.String())
	}
	if len(others) == 0 {
		return nil, errors.New("this machine has no address but loopback: lease the node, or give a number by hand")
	}
	return nil, fmt.Errorf("none of its addresses (%.48s) is a private IPv4 address: "+
		"lease the node, or give a number by hand", strings.Join(others, ", "))
}
