package bench

var ours = []entry{}
