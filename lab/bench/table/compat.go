package main

// compatTable is the table of the layers in compat/, beside Generator.Next of the same layout
// and beside the original.
func compatTable(s *sheet) {
	s.writeRow("ns an ID, 1 goroutine", "layer", "`Generator.Next`", "against it (target)", "original",
		"against it (target)")
	s.writeRow("---", "--:", "--:", "---", "--:", "---")
	for _, row := range []struct {
		name, title    string
		next, original float64 // targets; 0: there is none
	}{
		{"bwmarrin/default", "bwmarrin/snowflake", 1.15, 1.01},
		{"bwmarrin/wide", "bwmarrin/snowflake, 21 step bits", 1.15, 1.01},
		{"sonyflake1/default", "sony/sonyflake", 1.15, 1.01},
		{"sonyflake2/default", "sony/sonyflake/v2", 1.15, 1.01},
		{"sonyflake2/wide", "sony/sonyflake/v2, 30 sequence bits", 1.15, 1.01},
		{"yitter/default", "yitter/idgenerator-go", 1.15, 1.01},
		{"yitter/10-bits", "yitter/idgenerator-go, 500,000 IDs, 10 sequence bits", 1.15, 0.6},
		{"yitter/wide", "yitter/idgenerator-go, 21 sequence bits", 1.15, 1.01},
		{"randflake/default", "randflake", 1.15, 1.01},
		{"randflake/source", "randflake, a `TimeSource` that reads `time.Now`", 0, 1.01},
		{"randflake/fence", "randflake over a fence", 1.15, 1.01},
	} {
		ratio := func(what string, limit float64) string {
			x := s.median("compat/%s/%s", row.name, what)
			cell := figure(x) + " ×"
			if limit != 0 {
				cell = against(x, false, limit)
			}
			return cell + s.medianBounds("compat/%s/%s", row.name, what)
		}
		at := func(what string) string { return figure(s.median("compat/%s/%s", row.name, what)) }
		s.writeRow(row.title, at("ns"), at("next"), ratio("times-next", row.next),
			at("original"), ratio("times-original", row.original))
	}
}
