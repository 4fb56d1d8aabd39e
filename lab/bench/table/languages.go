package main

// languageTable is the table of the C library.
func languageTable(s *sheet) {
	s.writeRow("ns an ID", "of the C library", "beside", "ns", "against it (target)")
	s.writeRow("---", "--:", "---", "--:", "---")
	const bare = "a call of Go from C that does nothing"
	for _, row := range []struct {
		name, title, beside string
		limit               float64 // 0: there is none
	}{
		{"ring", "C, `snowfence_ring_next`", bare, 0.05},
		{"fill", "C, `snowfence_fill` of 1024", "`Fill` of 1024 in Go", 1.3},
		{"next", "C, `snowfence_next`", bare, 0},
	} {
		at := func(what string) float64 { return s.median("languages/%s/%s", row.name, what) }
		cell := figure(at("times")) + " ×"
		if row.limit != 0 {
			cell = against(at("times"), false, row.limit)
		}
		cell += s.medianBounds("languages/%s/times", row.name)
		s.writeRow(row.title, figure(at("ns")), row.beside, figure(at("beside")), cell)
	}
}
