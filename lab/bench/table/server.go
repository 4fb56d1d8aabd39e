package main

import (
	"strconv"
	"strings"
)

// writeSingles writes the rows of one kind of command against INCR. least
// has the target of each depth, 0 for none.
func (s *sheet) writeSingles(row string, least map[int]float64) {
	s.writeRow("--:", "--:", "--:", "---", "--:")
	for _, depth := range []int{1, 16, 64} {
		at := func(what string) float64 { return s.median("%s/P=%d/%s", row, depth, what) }
		rate := figure(at("times")) + " ×"
		if least[depth] > 0 {
			rate = against(at("times"), true, least[depth])
		}
		s.writeRow(strconv.Itoa(depth), many(at("snowfence/rate")), many(at("redis/rate")),
			rate+s.medianBounds("%s/P=%d/times", row, depth), figure(at("cpu-times"))+" ×")
	}
}

// serverTables are the tables of a server over its wires.
func serverTables(s *sheet) {
	s.writeRow("single IDs, 50 connections, pipeline of", "IDs/s", "INCR/s of redis", "rate", "CPU")
	s.writeSingles("single", nil)
	s.b.WriteString("\n")
	s.writeRow("INCR of a sequence, pipeline of", "numbers/s", "INCR/s of redis", "rate (target)", "CPU")
	s.writeSingles("numbers", map[int]float64{1: 0.9, 16: 1, 64: 1.5})
	s.b.WriteString("\n")
	s.writeRow("HTTP, 50 connections, wrk", "requests/s", "of the bare server", "rate (target)")
	s.writeRow("---", "--:", "--:", "---")
	ours, theirs := s.median("http/snowfence"), s.median("http/bare")
	s.writeRow("one ID as JSON; the bare server answers a constant", many(ours), many(theirs),
		against(ours/theirs, true, 0.8))
	s.b.WriteString("\n")
	s.writeRow("batches, one connection", "IDs/s (target)")
	s.writeRow("---", "--:")
	for _, row := range []struct{ name, title string }{
		{"resp-100000", "Redis protocol, COUNT 100000"},
		{"grpc-1000", "gRPC, 1000 IDs"},
		{"resp-runs", "Redis protocol, COUNT 1000000 RUNS"},
		{"grpc-runs", "gRPC, runs of 1,000,000 IDs"},
	} {
		rate := s.median("batch/%s/rate", row.name)
		target := ""
		if strings.HasSuffix(row.name, "runs") {
			target = " (≥ 1 G" + verdict(rate >= 1e9) + ")"
		}
		s.writeRow(row.title, many(rate)+target)
	}
}

// holderStores are the stores under many holders, in the order of their
// rows.
var holderStores = []string{"SQLite", "PostgreSQL", "MariaDB", "Redis", "etcd"}

// holderTable is the table of many holders behind a server.
func holderTable(s *sheet) {
	s.writeRow("store", "renewals/s", "p99", "server's memory a holder", "server's CPU", "all granted again after",
		"grants lost", "duplicates")
	s.writeRow("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, store := range holderStores {
		at := func(what string) float64 { return s.median("holders/%s/%s", store, what) }
		whole := func(what string) string { return strconv.FormatFloat(at(what), 'f', 0, 64) }
		s.writeRow(store, whole("rate"), figure(at("p99")*1e3)+" ms",
			figure(at("server-bytes")/1e3)+" kB", share(at("server-cpu")), figure(at("again"))+" s", whole("lost"),
			whole("duplicates"))
	}
}
