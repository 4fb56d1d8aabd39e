package main

func sequenceTables(s *sheet) {
	s.writeRow("ns a number", "1 goroutine", "an atomic add", "times (target)", "2 goroutines", "an atomic add",
		"times")
	s.writeRow("---", "--:", "--:", "---", "--:", "--:", "---")
	for _, row := range []struct {
		name, title string
		limit       float64
	}{
		{"next", "Next", 1.5},
		{"local", "Local, a handle for each goroutine", 0.5},
	} {
		cells := []string{row.title}
		for goroutines := 1; goroutines <= 2; goroutines++ {
			at := func(what string) float64 { return s.median("sequence/%s-%d/%s", row.name, goroutines, what) }
			times := figure(at("times")) + " ×"
			if goroutines == 1 {
				times = against(at("times"), false, row.limit)
			}
			cells = append(cells, figure(at("ns")), figure(at("add")), times)
		}
		s.writeRow(cells...)
	}
	s.b.WriteString("\n")
	s.writeRow("on a database", "numbers/s", "by hand", "times (target)")
	s.writeRow("---", "--:", "--:", "---")
	for _, row := range []struct {
		name, title string
		least       float64 // 0: there is none
	}{
		{"strict/one", "strict, PostgreSQL, 16 callers of one program", 2},
		{"strict/many", "strict, PostgreSQL, 16 programs", 0},
		{"sequencetx/postgres", "`SequenceTx`, PostgreSQL, 16 connections", 0.5},
		{"sequencetx/mariadb", "`SequenceTx`, MariaDB, 16 connections", 0.5},
		{"sequencetx/sqlite", "`SequenceTx`, SQLite, 16 connections", 0.5},
	} {
		at := func(what string) float64 { return s.median("%s/%s", row.name, what) }
		times := figure(at("times")) + " ×"
		if row.least > 0 {
			times = against(at("times"), true, row.least)
		}
		s.writeRow(row.title, many(at("rate")), many(at("hand")), times+s.medianBounds("%s/times", row.name))
	}
}
