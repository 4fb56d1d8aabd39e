-- KEYS[1] is the key of a number. ARGV: when it shall expire, and when it expires now if it is ours. Without ARGV it
-- only looks.

local function milliseconds()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local now = milliseconds()
local low = redis.pcall('PEXPIRETIME', KEYS[1]) -- it expires between low and high
local high = low
if type(low) == 'table' then -- Redis before 7 does not know the command
  local left = redis.call('PTTL', KEYS[1])
  low, high = left, left -- -2: no key, -1: it does not expire
  if left >= 0 then
    low, high = now + left, milliseconds() + left
  end
end
for i = 2, #ARGV do
  local ours = tonumber(ARGV[i])
  if low <= ours and ours <= high then
    redis.call('PEXPIREAT', KEYS[1], ARGV[1])
    return {now, low, 1}
  end
end
return {now, low, 0}
