package main

import "regexp"

var validName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`)

// checkName refuses what is no name of a namespace before a store is asked: a mistake on
// the command line is no failure of the store.
func checkName(name string) error {
	if !validName.MatchString(name) {
		return usagef("namespace %q: a name has 1 to 64 letters, digits, '-', '_' and '.'", name)
	}
	return nil
}
