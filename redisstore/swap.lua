-- ARGV from 2 on: how many nodes are read after the writes, these nodes, and of each write NODE, OLD NONCE with its tab,
-- NEW VALUE. The answer has a 1 for each write that was done and a 0 for each that was lost, and the values that were read.

-- The nonce of a value and the tab after it, which a swap compares; see script.go.
local function frontOf(value)
  if string.sub(value, 1, 1) ~= '3' then
    error({err = 'ERR a record has a format that this program does not know: use its program, or another prefix'})
  end
  return string.sub(value, 2, string.find(value, '\t', 1, true))
end

-- This changes nothing. Where memory or a right is missing, it fails before anything is written.
redis.call('ZADD', KEYS[3], 'XX', 0, '')

local nodes, done, records, fresh = {}, {}, {}, {}
local reads = tonumber(ARGV[2])
local first = 3 + reads
for i = first, #ARGV, 3 do table.insert(nodes, ARGV[i]) end
local stored = redis.call('HMGET', KEYS[2], unpack(nodes))
for i, node in ipairs(nodes) do
  local old = ARGV[first + 3 * i - 2]
  if (stored[i] and frontOf(stored[i]) or '') ~= old then
    done[i] = '0'
  else
    table.insert(records, node)
    table.insert(records, ARGV[first + 3 * i - 1])
    if not stored[i] then
      table.insert(fresh, 0)
      table.insert(fresh, node)
    end
    done[i] = '1'
  end
end
if #fresh > 0 then redis.call('PERSIST', KEYS[1]) end
if #records > 0 then redis.call('HSET', KEYS[2], unpack(records)) end
if #fresh > 0 then redis.call('ZADD', KEYS[3], unpack(fresh)) end
local read = reads > 0 and redis.call('HMGET', KEYS[2], unpack(ARGV, 3, first - 1)) or {}
return tell(table.concat(done), read)
