-- ARGV[2] says what to read: "get" NODE... | "range" MIN MAX LIMIT | "server".

local what = ARGV[2]
if what == 'get' then
  head[3] = redis.call('HMGET', KEYS[2], unpack(ARGV, 3))
elseif what == 'range' then
  local nodes = redis.call('ZRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])
  head[3] = #nodes > 0 and redis.call('HMGET', KEYS[2], unpack(nodes)) or {}
  head[4] = nodes
else
  head[3] = redis.call('INFO', 'server') .. redis.call('INFO', 'memory') .. redis.call('INFO', 'persistence')
end
return head
