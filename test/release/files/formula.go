package main

import (
	"fmt"
	"strings"
)

// formula returns the formula for Homebrew: where the archives are, and
// their checksums. It is complete if there is one for each system of
// Homebrew.
func formula(version string, sums map[string]string) (text string, complete bool) {
	complete = true
	number := strings.TrimPrefix(version, "v")
	var b strings.Builder
	fmt.Fprintf(&b, `class Snowfence < Formula
  desc "Unique 64-bit IDs for distributed systems"
  homepage "https://github.com/snowfence/snowfence"
  version "%s"
  license "Apache-2.0"
`, number)
	for _, system := range []struct{ homebrew, ours string }{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system.homebrew)
		for _, arch := range []struct{ homebrew, ours string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("snowfence_%s_%s_%s.tar.gz", number, system.ours, arch.ours)
			fmt.Fprintf(&b, `    on_%s do
      url "https://github.com/snowfence/snowfence/releases/download/%s/%s"
      sha256 "%s"
    end
`, arch.homebrew, version, name, sums[name])
			complete = complete && sums[name] != ""
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "snowfence"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/snowfence.bash" => "snowfence"
    zsh_completion.install "completions/_snowfence"
    fish_completion.install "completions/snowfence.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/snowfence version")
  end
end
`)
	return b.String(), complete
}
