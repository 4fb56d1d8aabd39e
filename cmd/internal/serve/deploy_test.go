package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// Every metric that the Grafana dashboard and the alert rules ask for is in
// a real scrape, with the labels they group by; and every metric of ours is
// asked for.
func TestMetricsOfDeploy(t *testing.T) {
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0", RESP: "127.0.0.1:0"}}, unitStore(t))
	eventually(t, "ready", func() bool { return p.Ready() == nil })
	holder := callerOf(p)
	m := &pb.AcquireRequest{Namespace: "many", Label: "x"}
	must(holder.Acquire(t.Context(), with(holder, m)))
	var text string
	eventually(t, "all metrics", func() bool { // nodes are counted after a while, lead after an ID
		if code, body := get(t, "http://"+p.HTTP+"/v1/default/next", ""); code != http.StatusOK {
			t.Fatal(body)
		}
		_, text = get(t, "http://"+p.Admin+"/metrics", "")
		return strings.Contains(text, "snowfence_nodes_held{") && strings.Contains(text, "snowfence_lead_seconds{")
	})
	// Series of certificates need certificates.
	_, cert, key := newCertificate(t)
	c := Config{Listeners: Listeners{Admin: "127.0.0.1:0"}, Access: Access{TLSCert: cert, TLSKey: key}}
	secure, _ := start(t, c, newStore(t))
	_, more := get(t, "http://"+secure.Admin+"/metrics", "")
	_, more, _ = strings.Cut(more, "# HELP snowfence_certificate")
	more, _, _ = strings.Cut(more, "# HELP")
	text += "# HELP snowfence_certificate" + more
	// Settings of tokens need tokens.
	k := token("shop", "secret-shop", server.VerbLease)
	k.Nodes, k.Until.Time = 5, time.Now().Add(time.Hour)
	known, _ := start(t, Config{
		Listeners: Listeners{Admin: "127.0.0.1:0"}, Access: Access{TokenList: []server.Token{k}},
	}, newStore(t))
	_, more = get(t, "http://"+known.Admin+"/metrics", "")
	for part := range strings.SplitSeq(more, "# HELP ") {
		if strings.HasPrefix(part, "snowfence_token_") {
			text += "# HELP " + part
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families := must(parser.TextToMetricFamilies(strings.NewReader(text)))
	have, asked := map[string]bool{}, map[string]bool{}
	for name, f := range families {
		have[name] = true
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		if f.GetMetric()[0].GetHistogram() != nil {
			have[name+"_bucket"], have[name+"_count"], have[name+"_sum"] = true, true, true
		}
	}
	metric := regexp.MustCompile(`\b(snowfence|process|go)_[a-z0-9_]+`)
	for _, file := range []string{"../../../deploy/grafana/snowfence.json", "../../../deploy/prometheus/alerts.yaml"} {
		data := must(os.ReadFile(file))
		found := metric.FindAllString(string(data), -1)
		if len(found) == 0 {
			t.Errorf("%s asks for nothing", file)
		}
		for _, name := range found {
			asked[name] = true
			if !have[name] {
				t.Errorf("%s asks for %s, which a scrape does not have", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(data) {
			t.Errorf("%s is no JSON", file)
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "snowfence_") && !asked[name] && !asked[name+"_bucket"] {
			t.Errorf("no test looks at %s", name)
		}
	}
}

// The chart took misspelled settings, and the pods did not start.
func TestSettingsOfTheChart(t *testing.T) {
	data := must(os.ReadFile("../../../deploy/chart/snowfence/values.schema.json"))
	var schema struct {
		Properties struct {
			Settings struct{ Properties map[string]any }
		}
	}
	noError(t, json.Unmarshal(data, &schema))
	have := schema.Properties.Settings.Properties
	written := []string{ // by the chart or the pod, or of agents
		"http", "resp", "admin", "open-to-network", "tls-cert", "tls-key", "tls-client-ca", "tokens", "secret", "secrets",
		"store", "label", "advertise", "token-file", "tls-ca",
	}
	for tag := range new(Config).Settings() {
		name := cmp.Or(tag.Get("file"), tag.Get("name"))
		if name == "-" { // no line of the file
			continue
		}
		if _, ok := have[name]; ok == slices.Contains(written, name) {
			t.Errorf("%s: in the schema %v", name, ok)
		}
		delete(have, name)
	}
	if len(have) > 0 {
		t.Errorf("no settings of a server: %v", have)
	}
}
