<?php
/*
 * 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library (PHP 8.1, FFI).
 *
 *	$ids = Snowfence\Generator::open('sqlite:/var/lib/shop/ids.db');
 *	$order = $ids->next();
 *
 * With PHP-FPM, open in the worker, never in a preload script: a process forked after an open gets SNOWFENCE_FORKED.
 */
declare(strict_types=1);

namespace Snowfence;

/** What went wrong: what happened, to what, and what to do. The code is the status in snowfence.h. */
final class Error extends \RuntimeException
{
}

final class Generator implements \IteratorAggregate
{
    private const RING = 'uint64_t[1031]'; // SNOWFENCE_RING_WORDS
    private const C = <<<'C'
        int snowfence_abi_version(void);
        size_t snowfence_last_error(char *buf, size_t size);
        int snowfence_open(const char *store, const char *ns, const char *options, uint64_t *out);
        int snowfence_open_statefile(const char *path, const char *layout, int64_t node, const char *options, uint64_t *out);
        int snowfence_open_static(const char *layout, int64_t node, const char *options, uint64_t *out);
        int snowfence_fill(uint64_t ids, int64_t *buf, size_t n, size_t *made);
        int snowfence_ring_take(uint64_t *ring, uint64_t ids, int64_t *id);
        int snowfence_ring_refill(uint64_t *ring, uint64_t ids, int64_t *id);
        int snowfence_close(uint64_t ids);
        typedef struct { int64_t tick, seconds, nanoseconds, node, sequence, rollback, key, scatter, tag; } snowfence_parts_t;
        int snowfence_decode(const char *layout, int64_t id, snowfence_parts_t *parts);
        int snowfence_decode_own(uint64_t ids, int64_t id, snowfence_parts_t *parts);
        int snowfence_format(int64_t id, const char *encoding, char *buf, size_t size, size_t *length);
        int snowfence_parse(const char *text, const char *encoding, int64_t *id);
        C;

    private static ?\FFI $c = null;
    private \FFI\CData $ring; // IDs taken ahead
    private ?\FFI\CData $out = null; // for the ID of next
    private bool $closed = false;

    private function __construct(private int $handle)
    {
        $this->ring = self::c()->new(self::RING);
    }

    /** Loads the library without starting it, as a preload script may, so that workers need not. */
    public static function load(): void
    {
        self::c();
    }

    /** Leases a node from a store; null is the store of this machine. Options are text such as "lead=2000". */
    public static function open(?string $store = null, ?string $namespace = null, ?string $options = null): self
    {
        self::plain($store, $namespace, $options);
        return self::opened(fn ($out) => self::c()->snowfence_open($store, $namespace, $options, $out));
    }

    /** Makes IDs of a bare number. It is safe inside this process only. */
    public static function openStatic(int $node, ?string $layout = null, ?string $options = null): self
    {
        self::plain($layout, $options);
        return self::opened(fn ($out) => self::c()->snowfence_open_static($layout, $node, $options, $out));
    }

    /** Makes IDs of one node, whose use a file remembers over restarts. */
    public static function openStateFile(string $path, int $node, ?string $layout = null, ?string $options = null): self
    {
        self::plain($path, $layout, $options);
        return self::opened(fn ($out) => self::c()->snowfence_open_statefile($path, $layout, $node, $options, $out));
    }

    /** Makes an ID. */
    public function next(): int
    {
        $out = $this->out ?? self::$c->new('int64_t[1]');
        $this->out = null; // a signal handler that makes IDs meanwhile has another one
        if (self::$c->snowfence_ring_take($this->ring, $this->handle, $out) === 0) {
            self::check(self::$c->snowfence_ring_refill($this->ring, $this->handle, $out));
        }
        $id = $out[0];
        $this->out = $out;
        return $id;
    }

    /** @return int[] n IDs; those with the same bits above the time increase */
    public function take(int $n): array
    {
        if ($n < 0) {
            throw new \ValueError('n is negative');
        }
        if ($n === 0) {
            return [];
        }
        $buf = self::c()->new("int64_t[$n]");
        self::check(self::c()->snowfence_fill($this->handle, $buf, $n, null));
        $this->ring[0] = 0; // it holds lower ones
        $ids = [];
        for ($i = 0; $i < $n; $i++) {
            $ids[] = $buf[$i];
        }
        return $ids;
    }

    /** @return array<string, int> tick, seconds, nanoseconds, node, sequence, rollback, key, scatter, tag; with its own secrets */
    public function parts(int $id): array
    {
        return self::taken(fn ($out) => self::c()->snowfence_decode_own($this->handle, $id, $out));
    }

    /** @return array<string, int> tick, seconds, nanoseconds, node, sequence, rollback, key, scatter, tag */
    public static function decode(int $id, ?string $layout = null): array
    {
        self::plain($layout);
        return self::taken(fn ($out) => self::c()->snowfence_decode($layout, $id, $out));
    }

    /** Writes an ID as text, such as "base58"; null is decimal. */
    public static function format(int $id, ?string $encoding = null): string
    {
        self::plain($encoding);
        $text = self::c()->new('char[80]');
        self::check(self::c()->snowfence_format($id, $encoding, $text, 80, null));
        return \FFI::string($text);
    }

    /** Reads the text of an ID. */
    public static function parse(string $text, ?string $encoding = null): int
    {
        self::plain($text, $encoding);
        $id = self::c()->new('int64_t');
        self::check(self::c()->snowfence_parse($text, $encoding, \FFI::addr($id)));
        return $id->cdata;
    }

    public function getIterator(): \Generator
    {
        while (true) {
            yield $this->next();
        }
    }

    /** Ends the generator and gives its node back. A second call does nothing. */
    public function close(): void
    {
        if (!$this->closed) {
            $this->closed = true;
            self::check(self::c()->snowfence_close($this->handle));
        }
    }

    public function __destruct()
    {
        try {
            $this->close();
        } catch (Error) {
            // the node is free when its lease ends; close() tells
        }
    }

    /** A copy would make the same IDs as its original. */
    private function __clone()
    {
    }

    /** @return never */
    public function __serialize(): array
    {
        throw new \LogicException('a generator cannot be serialized: open one in each process');
    }

    private static function taken(\Closure $call): array
    {
        $parts = self::c()->new('snowfence_parts_t');
        self::check($call(\FFI::addr($parts)));
        $all = [];
        foreach (['tick', 'seconds', 'nanoseconds', 'node', 'sequence', 'rollback', 'key', 'scatter', 'tag'] as $name) {
            $all[$name] = $parts->$name;
        }
        return $all;
    }

    private static function opened(\Closure $call): self
    {
        $out = self::c()->new('uint64_t');
        self::check($call(\FFI::addr($out)));
        return new self($out->cdata);
    }

    /** Refuses what C would read up to its first zero byte. */
    private static function plain(?string ...$texts): void
    {
        if (str_contains(implode($texts), "\0")) {
            throw new Error('a text has a zero byte', 4);
        }
    }

    private static function check(int $status): void
    {
        if ($status !== 0) {
            $text = self::c()->new('char[1024]');
            self::c()->snowfence_last_error($text, 1024);
            throw new Error(\FFI::string($text), $status);
        }
    }

    private static function c(): \FFI
    {
        if (self::$c === null) {
            self::$c = \FFI::cdef(self::C, getenv('SNOWFENCE_LIBRARY') ?: 'libsnowfence.so.1');
            if (self::$c->snowfence_abi_version() !== 1) {
                throw new \LogicException('libsnowfence has another ABI version than this file, which is for 1');
            }
        }
        return self::$c;
    }
}
