-- Both scripts begin with this. KEYS[1] is the key of a number. It expires between low and high.

local function milliseconds()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local now = milliseconds()
local low = redis.pcall('PEXPIRETIME', KEYS[1])
local high = low
if type(low) == 'table' then -- Redis before 7 does not know the command
  local left = redis.call('PTTL', KEYS[1])
  low, high = left, left -- -2: no key, -1: it does not expire
  if left >= 0 then
    low, high = now + left, milliseconds() + left
  end
end
