-- Asks for /n/<number> with a random number below the first argument; with "all" as the second, each number once in turn.
local count, all, next_number = 1, false, 0
function init(args)
  count = tonumber(args[1])
  all = args[2] == "all"
  math.randomseed(4711)
end
function request()
  local number
  if all then
    number = next_number
    next_number = next_number + 1
    if next_number == count then next_number = 0 end
  else
    number = math.random(0, count - 1)
  end
  return wrk.format("GET", "/n/" .. string.format("%d", number))
end
