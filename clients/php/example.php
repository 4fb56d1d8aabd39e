<?php
// Prints IDs: php -d ffi.enable=1 example.php STORE N
require __DIR__ . '/Snowfence.php';

$ids = Snowfence\Generator::open($argv[1], null, 'label=php-example');
for ($n = (int) $argv[2]; $n > 0; $n--) {
    echo $ids->next(), "\n";
}
$ids->close();
