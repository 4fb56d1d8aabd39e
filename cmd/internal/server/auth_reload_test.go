package server

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func sum(secret string) string {
	h := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(h[:])
}

func tokensOf(t *testing.T, tokens ...Token) *Auth {
	t.Helper()
	a, err := NewAuth(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Who is connected when tokens are read again has what the new file says, and keeps what
// was spent of an unchanged rate.
func TestTokensReadAgain(t *testing.T) {
	old := tokensOf(t,
		Token{Name: "gone", SHA256: sum("1")},
		Token{Name: "narrowed", SHA256: sum("2"), Verbs: []Verb{VerbIDs, VerbManage}},
		Token{Name: "rated", SHA256: sum("3"), Rate: 1e-9, Burst: 1},
		Token{Name: "replaced", SHA256: sum("4")},
	)
	var before [4]*Identity
	for i := range before {
		before[i], _ = old.Identify(string(rune('1' + i)))
	}
	if err := before[2].Spend(1); err != nil {
		t.Fatal(err)
	}
	now := tokensOf(t,
		Token{Name: "narrowed", SHA256: sum("2"), Namespaces: []string{"a*"}},
		Token{Name: "rated", SHA256: sum("3"), Rate: 1e-9, Burst: 1},
		Token{Name: "replaced", SHA256: sum("5")},
	)
	now.Replace(old)
	for i, want := range []Kind{Anonymous, Denied, -1, Anonymous} {
		err := before[i].May(VerbManage, "a1")
		if i == 2 {
			err = before[i].May(VerbIDs, "b")
		}
		if want == -1 {
			if err != nil {
				t.Errorf("%s: %v", before[i].Name, err)
			}
		} else if KindOf(err) != want {
			t.Errorf("%s: %v", before[i].Name, err)
		}
	}
	if before[1].May(VerbIDs, "a1") != nil || before[1].May(VerbIDs, "b") == nil {
		t.Error("a token has not the namespaces of the new file")
	}
	again, err := now.Identify("3")
	if err != nil || again.Spend(1) == nil || before[2].Spend(1) == nil {
		t.Errorf("a rate was forgotten (%v)", err)
	}
	if before[2].Authorize(VerbRead, "a", 1) == nil {
		t.Error("a request beyond the rate")
	}
	if before[0].Spend(1) == nil || !before[0].Limited() || before[0].Sees("a") {
		t.Error("a token that was taken away still counts")
	}
	if _, err := now.Identify("4"); err == nil {
		t.Error("an old secret is still known")
	}
}

func TestBadTokens(t *testing.T) {
	for name, list := range map[string][]Token{
		"no name":     {{SHA256: sum("1")}},
		"twice":       {{Name: "a", SHA256: sum("1")}, {Name: "a", SHA256: sum("2")}},
		"same secret": {{Name: "a", SHA256: sum("1")}, {Name: "b", SHA256: sum("1")}},
		"short sum":   {{Name: "a", SHA256: "12"}},
		"verb":        {{Name: "a", SHA256: sum("1"), Verbs: []Verb{"write"}}},
		"star":        {{Name: "a", SHA256: sum("1"), Namespaces: []string{"a*b"}}},
		"rate":        {{Name: "a", SHA256: sum("1"), Rate: -1}},
	} {
		if _, err := NewAuth(list); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
