package main

// compatTable is the table of the layers in compat/, beside Generator.Next
// of the same layout and beside the original.
func compatTable(s *sheet) {
	s.writeRow("ns an ID, 1 goroutine", "layer", "against `Generator.Next` (target)", "against the original (target)")
	s.writeRow("---", "--:", "---", "---")
	for _, row := range []struct{ name, title string }{
		{"bwmarrin", "bwmarrin/snowflake, 21 step bits"},
		{"sonyflake2", "sony/sonyflake/v2, 30 sequence bits"},
		{"yitter", "yitter/idgenerator-go, 21 sequence bits"},
		{"randflake", "randflake"},
		{"randflake/fence", "randflake over a fence"},
	} {
		at := func(what string) float64 { return s.median("compat/%s/%s", row.name, what) }
		s.writeRow(row.title, figure(at("ns")), against(at("times-next"), false, 1.15),
			against(at("times-original"), false, 1.01))
	}
}
