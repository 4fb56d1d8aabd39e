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

local function move(index, from, to)
  if from == to then return end
  if from then redis.call('ZREM', index, from) end
  if to then redis.call('ZADD', index, 0, to) end
end

-- These two change nothing. Where memory or the rights for the indexes are missing, they fail before anything is written.
redis.call('ZADD', KEYS[3], 'XX', 0, '')
redis.call('ZREM', KEYS[3], '')

local done = {}
for i = 2, #ARGV, 3 do
  local node, old, new = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local current = redis.call('HGET', KEYS[2], node)
  local till, vacant, nonce, label
  if current then
    till, vacant, nonce, label = parts(current)
  end
  if (nonce or '') ~= old then
    done[#done + 1] = '0'
  else
    local newTill, newVacant, _, newLabel = parts(new)
    redis.call('HSET', KEYS[2], node, new)
    if not current then redis.call('ZADD', KEYS[3], 0, node) end
    move(KEYS[4], till and till .. node, newTill .. node)
    move(KEYS[5], vacant and till .. node, newVacant and newTill .. node)
    move(KEYS[6], label and label .. node, newLabel .. node)
    done[#done + 1] = '1'
  end
end
head[5] = table.concat(done)
return head
