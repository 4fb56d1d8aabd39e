package main

import (
	"strconv"
	"strings"
)

// writeSingles writes the rows of one kind of command against INCR. least is the target of each
// depth.
func (s *sheet) writeSingles(row string, least map[int]float64) {
	s.writeRow("---", "--:", "--:", "--:", "---", "--:", "--:", "---", "--:")
	for _, where := range []string{"pinned", "free"} {
		for _, depth := range []int{1, 16, 64} {
			at := func(side, what string) float64 { return s.median("%s/%s/P=%d/%s/%s", row, where, depth, side, what) }
			ours, theirs := at("snowfence", "rate"), at("redis", "rate")
			cpu, cpuTheirs := at("snowfence", "cpu-ns"), at("redis", "cpu-ns")
			times := s.median("%s/%s/P=%d/times", row, where, depth)
			cpuTimes := s.median("%s/%s/P=%d/cpu-times", row, where, depth)
			rate, used := figure(times)+" ×", figure(cpuTimes)+" ×"
			if where == "pinned" {
				if row == "single" && depth == 64 {
					used = against(cpuTimes, false, 0.5)
				}
				rate = against(times, true, least[depth])
			}
			rate += s.medianBounds("%s/%s/P=%d/times", row, where, depth)
			title := map[string]string{
				"pinned": "server and client on a core each",
				"free":   "wherever the system puts them, a client of 2 threads",
			}[where]
			clients := share(at("snowfence", "client")) + ", of redis " + share(at("redis", "client"))
			s.writeRow(title, strconv.Itoa(depth), many(ours), many(theirs), rate,
				figure(cpu)+" ns", figure(cpuTheirs)+" ns", used, clients)
		}
	}
}

// serverTables are the tables of a server over its wires.
func serverTables(s *sheet) {
	s.writeRow("single IDs, 50 connections", "pipeline", "IDs/s", "INCR/s of redis", "rate (target)", "CPU an ID",
		"CPU an INCR", "CPU (target)", "client's core")
	s.writeSingles("single", map[int]float64{1: 1.1, 16: 1.1, 64: 2})
	s.b.WriteString("\n")
	s.writeRow("INCR of a sequence, 50 connections", "pipeline", "numbers/s", "INCR/s of redis", "rate (target)",
		"CPU a number", "CPU an INCR", "CPU", "client's core")
	s.writeSingles("numbers", map[int]float64{1: 0.9, 16: 1, 64: 1.5})
	s.b.WriteString("\n")
	s.writeRow("HTTP, 50 connections, wrk", "requests/s", "of the bare server", "rate (target)", "CPU an ID",
		"CPU of the bare server")
	s.writeRow("---", "--:", "--:", "---", "--:", "--:")
	for _, row := range []string{"one", "thousand"} {
		at := func(side, what string) float64 { return s.median("http/%s/%s/%s", row, side, what) }
		ours, theirs := at("snowfence", "rate"), at("bare", "rate")
		title, rate := "one ID as JSON; the bare server answers a constant", against(ours/theirs, true, 0.8)
		if row == "thousand" {
			title, rate = "1000 IDs as JSON; the bare server by encoding/json", figure(ours/theirs)+" ×"
		}
		s.writeRow(title, many(ours), many(theirs), rate, figure(at("snowfence", "cpu-ns"))+" ns",
			figure(at("bare", "cpu-ns"))+" ns")
	}
	s.b.WriteString("\n")
	s.writeRow("batches, one connection", "IDs/s", "server's core", "client's core", "target")
	s.writeRow("---", "--:", "--:", "--:", "---")
	for _, row := range []struct{ name, title string }{
		{"resp-1000", "Redis protocol, COUNT 1000"},
		{"resp-100000", "Redis protocol, COUNT 100000"},
		{"connect-1000", "Connect, 1000 IDs"},
		{"grpc-1000", "gRPC, 1000 IDs"},
		{"grpc-100000", "gRPC, 100,000 IDs"},
		{"resp-runs", "Redis protocol, COUNT 1000000 RUNS"},
		{"grpc-runs", "gRPC, runs of 1,000,000 IDs"},
	} {
		at := func(what string) float64 { return s.median("batch/%s/%s", row.name, what) }
		target := ""
		if strings.HasSuffix(row.name, "runs") {
			target = "≥ 1 G, " + verdict(at("rate") >= 1e9)
		}
		s.writeRow(row.title, many(at("rate")), share(at("server")), share(at("client")), target)
	}
}

// holderStores are the stores under many holders, in the order of their rows.
var holderStores = []string{"SQLite", "PostgreSQL", "MariaDB", "Redis", "etcd"}

// holderTable is the one of many holders behind a server.
func holderTable(s *sheet) {
	s.writeRow("store", "holders", "opened in", "renewals/s", "due/s", "p50", "p99", "longest", "memory a holder: "+
		"client", "server", "CPU of the server", "after kill -9: nothing granted for", "all granted again after",
		"grants lost", "duplicates")
	s.writeRow("---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, store := range holderStores {
		at := func(what string) float64 { return s.median("holders/%s/%s", store, what) }
		ms := func(what string) string { return figure(at(what)*1e3) + " ms" }
		whole := func(what string) string { return strconv.FormatFloat(at(what), 'f', 0, 64) }
		s.writeRow(store, whole("holders"), figure(at("opening"))+" s", whole("rate"), whole("due"),
			ms("p50"), ms("p99"), ms("max"), figure(at("client-bytes")/1e3)+" kB", figure(at("server-bytes")/1e3)+" kB",
			share(at("server-cpu")), ms("gap"), figure(at("again"))+" s", whole("lost"), whole("duplicates"))
	}
}
