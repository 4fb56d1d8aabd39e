-- ARGV: when the key shall expire, and when it expires now if it is ours.

for i = 2, #ARGV do
  local ours = tonumber(ARGV[i])
  if low <= ours and ours <= high then
    redis.call('PEXPIREAT', KEYS[1], ARGV[1])
    return {now, low, 1}
  end
end
return {now, low, 0}
