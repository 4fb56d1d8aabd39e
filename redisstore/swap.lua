-- ARGV from 2 on: NODE, OLD NONCE, NEW VALUE of each write. The answer has a 1 for each that was done and a 0 for each that was lost.

-- What the indexes hold of a value; see record.go.
local function parts(value)
  if string.sub(value, 1, 1) ~= '1' then
    error({err = 'ERR a record has a format that this program does not know: use a newer program'})
  end
  local nonce = 34 + tonumber(string.sub(value, 19, 26), 16)
  local label = nonce + tonumber(string.sub(value, 27, 34), 16)
  return string.sub(value, 2, 17), string.sub(value, 18, 18) == 'v', string.sub(value, 35, nonce),
    string.sub(value, 27, 34) .. string.sub(value, nonce + 1, label)
end

-- What to write, all together at the end: a call of Redis costs more than the work it does.
local records, add, remove = {}, {}, {}
for index = 3, 6 do add[index], remove[index] = {}, {} end

local function move(index, from, to)
  if from == to then return end
  if from then table.insert(remove[index], from) end
  if to then
    table.insert(add[index], 0)
    table.insert(add[index], to)
  end
end

-- These two change nothing. Where memory or the rights for the indexes are missing, they fail before anything is written.
redis.call('ZADD', KEYS[3], 'XX', 0, '')
redis.call('ZREM', KEYS[3], '')

local nodes, done = {}, {}
for i = 2, #ARGV, 3 do table.insert(nodes, ARGV[i]) end
local stored = redis.call('HMGET', KEYS[2], unpack(nodes))
for i, node in ipairs(nodes) do
  local current, old, new = stored[i], ARGV[3 * i], ARGV[3 * i + 1]
  local till, vacant, nonce, label
  if current then
    till, vacant, nonce, label = parts(current)
  end
  if (nonce or '') ~= old then
    done[i] = '0'
  else
    local newTill, newVacant, _, newLabel = parts(new)
    table.insert(records, node)
    table.insert(records, new)
    move(3, current and node, node)
    move(4, till and till .. node, newTill .. node)
    move(5, vacant and till .. node, newVacant and newTill .. node)
    move(6, label and label .. node, newLabel .. node)
    done[i] = '1'
  end
end
if #records > 0 then redis.call('HSET', KEYS[2], unpack(records)) end
for index = 3, 6 do
  if #remove[index] > 0 then redis.call('ZREM', KEYS[index], unpack(remove[index])) end
  if #add[index] > 0 then redis.call('ZADD', KEYS[index], unpack(add[index])) end
end
head[5] = table.concat(done)
return head
