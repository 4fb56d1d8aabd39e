-- ARGV[2] says what to read: "get" NODE... | "count" FIRST LAST | "range" INDEX MIN MAX LIMIT | "server".

local what = ARGV[2]
if what == 'get' then
  head[5] = redis.call('HMGET', KEYS[2], unpack(ARGV, 3))
elseif what == 'count' then
  head[5] = redis.call('ZLEXCOUNT', KEYS[3], '[' .. ARGV[3], '[' .. ARGV[4])
elseif what == 'range' then
  local members = redis.call('ZRANGEBYLEX', KEYS[tonumber(ARGV[3])], ARGV[4], ARGV[5], 'LIMIT', 0, ARGV[6])
  local nodes = {}
  for i, m in ipairs(members) do nodes[i] = string.sub(m, -16) end
  head[5] = #nodes > 0 and redis.call('HMGET', KEYS[2], unpack(nodes)) or {}
  head[6] = members
else
  head[5] = redis.call('INFO', 'server') .. redis.call('INFO', 'memory') .. redis.call('INFO', 'persistence')
end
return head
