<?php
function snowfence_ids(int $n = 1): array {
    $url = (getenv('SNOWFENCE_SERVER') ?: 'http://127.0.0.1:8080') . "/v1/default/next?n=$n";
    $context = stream_context_create(['http' => [
        'timeout' => 5, 'ignore_errors' => true,
        'header' => 'Authorization: Bearer ' . getenv('SNOWFENCE_TOKEN'),
    ]]);
    $text = file_get_contents($url, false, $context);
    $answer = json_decode($text ?: '{}', true);
    if (!isset($answer['ids'])) {
        throw new RuntimeException($answer['detail'] ?? "no answer from $url");
    }
    return array_map('intval', $answer['ids']); // PHP's int has 64 bits
}
echo implode("\n", snowfence_ids(3)), "\n";
