package snowfence

import "context"

// Fill writes new IDs to dst, in increasing order, and returns how many. It takes them in
// runs, each with one atomic step, and reads the clock once for each run, so a long dst
// costs little more than writing the memory. For each run it waits as Next does; when it
// gives up, the first n are good and err says why there are no more.
func (g *Generator) Fill(ctx context.Context, dst []ID) (n int, err error) {
	for n < len(dst) {
		t, pos, count, err := g.reserve(ctx, uint64(len(dst)-n), g.maxWait)
		if err != nil {
			return n, err
		}
		n += t.write(dst[n:], pos, count)
	}
	return n, nil
}

// write puts the IDs of count positions from pos into dst.
func (t *track) write(dst []ID, pos, count uint64) int {
	for n := uint64(0); n < count; {
		id, step, k := t.piece(pos+n, count-n)
		if p := t.hold.scheme.current; p != nil {
			p.encryptRun(words(dst[n:n+k]), uint64(id), uint64(step))
		} else {
			count64(dst[n:n+k], id, step)
		}
		n += k
	}
	return int(count)
}

// count64 writes id, id+step, id+2×step, … The loop is unrolled by hand, because the
// compiler does not: half the time of the plain one.
func count64(dst []ID, id, step ID) {
	s2, s3, s4 := 2*step, 3*step, 4*step
	for len(dst) >= 16 {
		d := (*[16]ID)(dst)
		d[0] = id
		d[1] = id + step
		d[2] = id + s2
		d[3] = id + s3
		id += s4
		d[4] = id
		d[5] = id + step
		d[6] = id + s2
		d[7] = id + s3
		id += s4
		d[8] = id
		d[9] = id + step
		d[10] = id + s2
		d[11] = id + s3
		id += s4
		d[12] = id
		d[13] = id + step
		d[14] = id + s2
		d[15] = id + s3
		id += s4
		dst = dst[16:]
	}
	for i := range dst {
		dst[i] = id
		id += step
	}
}
