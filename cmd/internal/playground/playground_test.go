package playground

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func ask(t *testing.T, q question) (a Answer) {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(Ask(string(text), now)), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// The published sample of every layout has the same fields in the
// playground.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../snowfence/testdata/layouts.json")
	if err != nil {
		t.Fatal(err)
	}
	var layouts map[string]struct {
		Vectors []map[string]any `json:"vectors"`
	}
	if err := json.Unmarshal(data, &layouts); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, l := range layouts {
		for _, v := range l.Vectors {
			id := v["id"].(string)
			a := ask(t, question{Ask: "decode", Text: id, Layout: name})
			if a.Error != "" || len(a.Cards) != 1 || a.Cards[0].Title != id {
				t.Fatalf("%s, %s: %+v", name, id, a)
			}
			var digits strings.Builder
			for _, g := range a.Cards[0].Groups {
				digits.WriteString(g.Digits)
			}
			if digits.Len() != 64 {
				t.Errorf("%s, %s: %d bits", name, id, digits.Len())
			}
			for _, row := range a.Cards[0].Rows {
				if want, ok := v[row[0]].(float64); ok {
					n++
					if got, _, _ := strings.Cut(row[1], " "); got != strconv.FormatInt(int64(want), 10) {
						t.Errorf("%s, ID %s: %s is %s, want %v", name, id, row[0], row[1], want)
					}
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d fields", n)
	}
}

func TestQuestions(t *testing.T) {
	const id = "249887800817025024"
	for _, c := range []struct {
		name string
		q    question
		want []string // in the answer
	}{
		{"a decimal", question{Ask: "decode", Text: " " + id + "\n"}, []string{
			`"2026-11-21T13:24:54.405Z  (10 hours ago, tick 59577894405)"`, `["node","624"]`, `also fits: sonyflake (`,
			`"command":["snowfence","decode","` + id + `"]`,
		}},
		{"another form", question{Ask: "decode", Text: "afvLx21TMZ", From: "base58"}, []string{
			`"title":"250096918090633216"`, `"--from","base58"`,
		}},
		{"the library's own error", question{Ask: "decode", Text: "hello"}, []string{`"error":"`, `\"hello\"`}},
		{"nothing", question{Ask: "decode"}, []string{`"error":"an ID is missing"`}},
		{"an unknown layout", question{Ask: "decode", Text: id, Layout: "foo"}, []string{`"error":"`, "foo"}},
		{"an encrypted layout", question{Ask: "decode", Text: id, Layout: "randflake"}, []string{`"error":"`, "secret"}},
		{"a guess", question{Ask: "guess", Text: "605846670390853632"}, []string{`"--guess"`, "twitter", "discord"}},
		{"a layout", question{Ask: "plan", Layout: "twitter"}, []string{
			`"end of life","2080-07-10T17:30:30Z`, `{"name":"worker","digits":"·····"}`,
		}},
		{"a bad layout", question{Ask: "plan", Layout: "tim=41"}, []string{`"error":"`, "time"}},
		{"a need", question{Ask: "find", Rate: "500000", Nodes: "64", Years: "50"}, []string{
			`"title":"snowfence"`, `"title":"roomy"`, `["for","`,
		}},
		{"too much", question{Ask: "find", Rate: "1e12", Nodes: "64", Years: "500", JSSafe: true}, []string{
			`"refused":true`, "no layout of 53 bits holds", "not with ticks of 1ms",
		}},
		{"no number", question{Ask: "find", Rate: "many", Nodes: "1", Years: "1"}, []string{"many", "is no rate such as"}},
		{"a safe change", question{Ask: "change", Layout: "twitter", To: "time=41,node=8,seq=14,epoch=2000-01-01"}, []string{
			"SAFE: no ID of the new layout", `["proof","`,
		}},
		{"a refused change", question{Ask: "change", Layout: "twitter", To: "sonyflake", At: "2027-01-01"}, []string{
			`"refused":true`, "REFUSED: both layouts can make the ID 653022933811200000", "as an ID made from 2027-01-01T00:00:00Z on",
			`"--at","2027-01-01"`,
		}},
		{"no time", question{Ask: "change", Layout: "twitter", To: "sonyflake", At: "soon"}, []string{"is not a time such as"}},
		{"the choice", question{Ask: "layouts"}, []string{`"name":"twitter"`, `"encrypted":true`, `"bwmarrin64"`}},
		{"no question", question{Ask: "x"}, []string{"is no question"}},
	} {
		text, err := json.Marshal(c.q)
		if err != nil {
			t.Fatal(err)
		}
		got := Ask(string(text), now)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", c.name, want, got)
			}
		}
	}
	if got := Ask("{", now); !strings.Contains(got, `"error":"`) {
		t.Error(got)
	}
}
