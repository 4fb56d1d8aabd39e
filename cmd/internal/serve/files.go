package serve

// keptFiles is how many of the files that the system allows are kept for
// health and metrics, the store and its logs, whatever clients do.
const keptFiles = 128

// Connections returns how many connections HTTP and the Redis protocol may
// have each: as many as the settings say, or as the system allows. admin is
// how many the admin address may have.
func Connections(most int) (each, admin int) {
	files := mostFiles()
	kept := min(keptFiles, files/4)
	return min(most, (files-kept)/2), kept / 2
}
