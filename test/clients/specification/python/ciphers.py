"""AES-128, FF1 over it, SPARX-64/128 and the ID of a secret, by docs/reference/specification.md alone."""
import hashlib


def secret_id(secret):
    return hashlib.sha256(b"snowfence key id\0" + secret).hexdigest()[:8]


# SPARX-64/128

rotl = lambda x, n: (x << n | x >> 16 - n) & 0xFFFF


def a(l, r):
    l = (rotl(l, 9) + r) & 0xFFFF
    return l, rotl(r, 2) ^ l


def a_back(l, r):
    r = rotl(r ^ l, 14)
    return rotl((l - r) & 0xFFFF, 7), r


def sparx_keys(key):
    k, out = [key[i] << 8 | key[i + 1] for i in range(0, 16, 2)], []
    for i in range(1, 17):
        out += k[:6]
        k[0], k[1] = a(k[0], k[1])
        k[2], k[3], k[7] = (k[2] + k[0]) & 0xFFFF, (k[3] + k[1]) & 0xFFFF, (k[7] + i) & 0xFFFF
        k = k[6:] + k[:6]
    return out + k[:4]


def sparx(key, block, encrypt=True):
    """Encrypts or decrypts a block of 8 bytes, given as a number, the first byte highest."""
    k, x = sparx_keys(key), [block >> s & 0xFFFF for s in (48, 32, 16, 0)]
    if not encrypt:
        x = [x[i] ^ k[96 + i] for i in range(4)]
    for step in range(8) if encrypt else range(7, -1, -1):
        if not encrypt:
            t = rotl(x[2] ^ x[3], 8)
            x = [x[2], x[3], x[0] ^ x[2] ^ t, x[1] ^ x[3] ^ t]
        for b in (0, 2):
            at = 12 * step + 3 * b
            for r in range(3):
                if encrypt:
                    x[b], x[b + 1] = a(x[b] ^ k[at + 2 * r], x[b + 1] ^ k[at + 2 * r + 1])
                else:
                    l, m = a_back(x[b], x[b + 1])
                    x[b], x[b + 1] = l ^ k[at + 4 - 2 * r], m ^ k[at + 5 - 2 * r]
        if encrypt:
            t = rotl(x[0] ^ x[1], 8)
            x = [x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]]
    if encrypt:
        x = [x[i] ^ k[96 + i] for i in range(4)]
    return x[0] << 48 | x[1] << 32 | x[2] << 16 | x[3]


# AES-128: FIPS 197. Most languages have it; Python's standard library does not.

double = lambda x: x << 1 ^ (0x11B if x & 0x80 else 0)


def s_box():
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p ^= double(p)  # times 3
        for n in (1, 2, 4):  # q is 1/p
            q = (q ^ q << n) & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        turn = lambda n: q << n | q >> 8 - n
        box[p] = (q ^ turn(1) ^ turn(2) ^ turn(3) ^ turn(4)) & 0xFF ^ 0x63
        if p == 1:
            return box


BOX = s_box()


def aes(key, block):
    w, r = [list(key[i:i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        t = w[-1]
        if i % 4 == 0:
            t = [BOX[t[1]] ^ r, BOX[t[2]], BOX[t[3]], BOX[t[0]]]
            r = double(r)
        w.append([x ^ y for x, y in zip(w[-4], t)])
    add = lambda s, n: [x ^ y for x, y in zip(s, sum(w[4 * n:4 * n + 4], []))]
    s = add(block, 0)
    for n in range(1, 11):
        s = [BOX[s[(5 * i) % 16]] for i in range(16)]
        if n < 10:
            for c in range(0, 16, 4):
                v = s[c:c + 4]
                s[c:c + 4] = [double(v[i]) ^ double(v[i - 3]) ^ v[i - 3] ^ v[i - 2] ^ v[i - 1] for i in range(4)]
        s = add(s, n)
    return bytes(s)


# FF1: NIST SP 800-38G, radix 2

def ff1(key, n, tweak, x, encrypt=True):
    u, v = n // 2, n - n // 2
    b = (v + 7) // 8
    head = bytes([1, 2, 1, 0, 0, 2, 10, u]) + n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big") + tweak
    head += bytes((-len(head) - b - 1) % 16)

    def round_of(i, half):
        chain, text = bytes(16), head + bytes([i]) + half.to_bytes(b, "big")
        for at in range(0, len(text), 16):
            chain = aes(key, bytes(p ^ q for p, q in zip(chain, text[at:at + 16])))
        return int.from_bytes(chain[:8], "big")

    left, right = x >> v, x & (1 << v) - 1
    for i in range(10) if encrypt else range(9, -1, -1):
        m = u if i % 2 == 0 else v
        if encrypt:
            left, right = right, (left + round_of(i, right)) % (1 << m)
        else:
            left, right = (right - round_of(i, left)) % (1 << m), left
    return left << v | right
