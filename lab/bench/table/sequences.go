package main

import "strconv"

// sequenceTables are the tables of the numbers of sequences.
func sequenceTables(s *sheet) {
	s.writeRow("ns a number", "1 goroutine", "against an atomic add (target)", "2 goroutines",
		"against an atomic add (target)", "allocs")
	s.writeRow("---", "--:", "---", "--:", "---", "--:")
	for _, row := range []struct {
		name, title string
		limits      [2]float64 // 0: there is none
	}{
		{"next", "Next", [2]float64{1.5, 1.3}},
		{"any", "Next, over three stores", [2]float64{}},
		{"local", "Local, a handle for each goroutine", [2]float64{0.5}},
	} {
		cells, allocs := []string{row.title}, 0.0
		for i, limit := range row.limits {
			at := func(what string) float64 { return s.median("sequence/%s-%d/%s", row.name, i+1, what) }
			times := at("times")
			cell := figure(times) + " ×"
			if limit != 0 {
				cell = against(times, false, limit)
			}
			cell += s.medianBounds("sequence/%s-%d/times", row.name, i+1) + ", the add " + figure(at("add")) + " ns"
			cells = append(cells, figure(at("ns")), cell)
			allocs = max(allocs, at("allocs"))
		}
		s.writeRow(append(cells, strconv.FormatFloat(allocs, 'f', 0, 64))...)
	}
	s.b.WriteString("\n")
	s.writeRow("a million numbers a second for a minute", "calls that found no number (target)")
	s.writeRow("---", "--:")
	waits := s.median("sequence/waits")
	s.writeRow("the store takes 0.2 s for each write; after 5 s in which ranges grow",
		strconv.FormatFloat(waits, 'f', 0, 64)+" (0, "+verdict(waits == 0)+")")
	s.b.WriteString("\n")
	s.writeRow("on a database", "numbers/s", "by hand", "times (target)")
	s.writeRow("---", "--:", "--:", "---")
	for _, row := range []struct {
		name, title string
		least       float64
	}{
		{"strict/one", "strict, PostgreSQL, 16 callers of one program", 2},
		{"strict/many", "strict, PostgreSQL, 16 programs with a connection and a caller each", 0.5},
		{"sequencetx/postgres", "`SequenceTx`, PostgreSQL, 16 connections", 0.5},
		{"sequencetx/mariadb", "`SequenceTx`, MariaDB, 16 connections", 0.5},
		{"sequencetx/sqlite", "`SequenceTx`, SQLite, 16 connections", 0.5},
	} {
		at := func(what string) float64 { return s.median("%s/%s", row.name, what) }
		s.writeRow(row.title, many(at("rate")), many(at("hand")),
			against(at("times"), true, row.least)+s.medianBounds("%s/times", row.name))
	}
}
