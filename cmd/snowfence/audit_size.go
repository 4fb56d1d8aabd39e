package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseSize reads a number of bytes such as 12GiB, 12G (the same) or 12GB (of 1000 each).
func parseSize(text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	number := strings.TrimRight(s, "kmgtib")
	unit := s[len(number):]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	base, power := 1024.0, 0
	if unit != "" && unit != "b" {
		power = 1 + strings.IndexByte("kmgt", unit[0])
		switch unit[1:] {
		case "", "ib":
		case "b":
			base = 1000
		default:
			power = 0
		}
		if power == 0 {
			err = strconv.ErrSyntax
		}
	}
	bytes := n * math.Pow(base, float64(power))
	if err != nil || !(bytes >= 0 && bytes < 1<<62) {
		return 0, fmt.Errorf("%q is no size such as 512MiB or 12GiB", text)
	}
	return int64(bytes), nil
}
