<?php
// Checks the file: php -d ffi.enable=1 test.php STORE VECTORS. Prints "ok".
declare(strict_types=1);

require __DIR__ . '/Snowfence.php';

use Snowfence\Error;
use Snowfence\Generator;

function expect(string $type, string $text, callable $call): void
{
    try {
        $call();
    } catch (\Throwable $e) {
        if (!$e instanceof $type || !str_contains($e->getMessage(), $text)) {
            throw $e;
        }
        return;
    }
    throw new Exception("nothing was thrown about $text");
}

function must(bool $ok, string $what): void
{
    if (!$ok) {
        throw new Exception($what);
    }
}

foreach (file($argv[2], FILE_IGNORE_NEW_LINES) as $line) {
    [$layout, $id, $tick, $node, $sequence, $rollback, $scatter, $tag] = explode("\t", $line);
    $p = Generator::decode((int) $id, $layout);
    foreach (compact('tick', 'node', 'sequence', 'rollback', 'scatter', 'tag') as $name => $want) {
        must($want === '-' || $p[$name] === (int) $want, "$line: $name is {$p[$name]}");
    }
}
must(Generator::parse(Generator::format(1 << 62, 'base58'), 'base58') === 1 << 62, 'base58');
expect(Error::class, 'leed', fn () => Generator::open('mem:', null, 'leed=1'));
expect(Error::class, 'xyz', fn () => Generator::parse('xyz'));
expect(Error::class, 'zero', fn () => Generator::parse("7\0x"));
expect(Error::class, 'zero', fn () => Generator::openStatic(1, "default\0x"));

$ids = Generator::open($argv[1], null, 'label=php,lead=2000');
$made = [];
$last = 0;
for ($i = 0; $i < 50000; $i++) {
    foreach ($i % 1000 === 0 ? $ids->take(intdiv($i, 1000) % 7) : [$ids->next()] as $id) {
        must($id > $last, 'the IDs do not increase');
        $made[$last = $id] = true;
    }
}
foreach ($ids as $id) {
    must($id > $last, 'the iterator');
    break;
}
must(count($made) > 49000 && $ids->parts($last)['node'] === $ids->parts(array_key_first($made))['node'], 'IDs');
expect(\ValueError::class, 'negative', fn () => $ids->take(-1));

// A signal handler that makes IDs came between the look at a batch and its use.
pcntl_async_signals(true);
$own = $in = [];
pcntl_signal(SIGUSR1, function () use ($ids, &$in) { $in[] = $ids->next(); });
$storm = proc_open(['sh', '-c', 'while kill -USR1 ' . getmypid() . '; do :; done'], [], $pipes);
while (count($in) < 300 || count($own) < 50000) {
    $own[] = $ids->next();
}
proc_terminate($storm, SIGKILL);
pcntl_signal(SIGUSR1, SIG_IGN);
proc_close($storm);
must(count(array_flip([...$own, ...$in])) === count($own) + count($in), 'an ID came twice beside a signal handler');
for ($i = 1; $i < count($own); $i++) {
    must($own[$i] > $own[$i - 1], 'the IDs do not increase beside a signal handler');
}
$last = $own[$i - 1];

// A clone had the same IDs as its original.
expect(\Error::class, 'private', fn () => clone $ids);
expect(\Throwable::class, 'serializ', fn () => serialize($ids));

// What nobody uses any more is closed.
$number = Generator::openStatic(9);
expect(Error::class, '9', fn () => Generator::openStatic(9));
unset($number);
Generator::openStatic(9)->close();

$ids->next(); // so that some are left
$pid = pcntl_fork();
if ($pid === 0) {
    expect(Error::class, 'forked', fn () => $ids->next());
    expect(Error::class, 'forked', fn () => $ids->take(1));
    expect(Error::class, 'forked', fn () => Generator::open($argv[1]));
    exit(7);
}
pcntl_waitpid($pid, $status);
must(pcntl_wexitstatus($status) === 7, 'the child');
must($ids->next() > $last, 'the child closed the generator of its parent');
$ids->close();
$ids->close();
for ($i = 0; $i < 20; $i++) {
    expect(Error::class, 'closed', fn () => $ids->next());
}
expect(Error::class, 'closed', fn () => $ids->take(1));
echo "ok\n";
