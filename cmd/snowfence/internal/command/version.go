package command

import (
	"bufio"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// VersionInfo is what version prints.
type VersionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadVersion returns the version of this program.
func ReadVersion() VersionInfo {
	v := VersionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// VersionCommand returns snowfence version.
func VersionCommand(e *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Version prints the version of the program. Archives and packages of a release have the man pages
and, in THIRD-PARTY-NOTICES.txt, the licences of what the program contains; "make release" in the
sources makes both.`,
		Args: cobra.NoArgs,
		RunE: e.Run(func(_ *cobra.Command, _ []string, out *bufio.Writer) error {
			v := ReadVersion()
			if asJSON {
				return WriteJSON(out, v)
			}
			text := "snowfence " + v.Version
			if v.Revision != "" {
				text += " " + v.Revision
			}
			if v.Modified {
				text += " (modified)"
			}
			_, err := fmt.Fprintf(out, "%s %s %s\n", text, v.Go, v.Platform)
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}
