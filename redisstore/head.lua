-- Each script begins with this. KEYS: 1 who the data is, 2 records by node, 3 nodes in their order.
-- ARGV[1] is a fresh random name for the data, used when it has none yet or may have been set back; '' from a store
-- that only reads.

local function field(info, name)
  local _, last = string.find(info, name .. ':', 1, true)
  return string.sub(info, last + 1, string.find(info, '\r', last, true) - 1)
end

local replication = redis.call('INFO', 'replication')
if field(replication, 'role') ~= 'master' then
  return redis.error_reply('READONLY this server is a replica, whose data may be old')
end
local run = field(redis.call('INFO', 'server'), 'run_id')
local second = field(replication, 'master_replid2')
local known = redis.call('HMGET', KEYS[1], 'id', 'run', 'second')
local id = known[1]
local cleared = second == string.rep('0', 40)
-- Anybody may ask for any name: one without a record is forgotten. The list (@) has no nodes.
local function bare()
  return not string.find(KEYS[1], '{@}', 1, true) and #redis.call('ZRANGEBYLEX', KEYS[3], '-', '+', 'LIMIT', 0, 1) == 0
end

if ARGV[1] == '' and bare() then -- a store that only reads writes nothing
  id = id or ''
elseif not id or known[2] ~= run or (second ~= known[3] and not cleared) then
  id = ARGV[1]
  redis.call('HSET', KEYS[1], 'id', id, 'run', run, 'second', second)
  if bare() then redis.call('EXPIRE', KEYS[1], 60) end
elseif second ~= known[3] then
  redis.call('HSET', KEYS[1], 'second', second)
end

-- The answer of each script. The time comes last, because an old server writes nothing after it asked for it. It is ''
-- for a user who may not ask for it.
local function tell(...)
  local time = redis.pcall('TIME')
  return {id, run, time.err and '' or time, ...}
end
