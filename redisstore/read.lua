-- ARGV[2] says what to read: "get" NODE... | "range" MIN MAX LIMIT | "server".

local what = ARGV[2]
if what == 'get' then
  return tell(redis.call('HMGET', KEYS[2], unpack(ARGV, 3)))
elseif what == 'range' then
  local nodes = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])
  return tell(#nodes > 0 and redis.call('HMGET', KEYS[2], unpack(nodes)) or {}, nodes)
end
return tell(redis.call('INFO', 'server') .. redis.call('INFO', 'memory') .. redis.call('INFO', 'persistence'))
