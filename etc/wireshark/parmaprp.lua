-- Wireshark dissector of PRP, the PaRma Protocol, as prp-proto/SPEC.md defines it. Comments name
-- its clauses.
-- docs/operations.md, "Reading a capture", says how to install it and what to filter for.
--
--   tshark -X lua_script:parmaprp.lua -r capture.pcapng -O parmaprp
--   tshark -X lua_script:parmaprp.lua -X lua_script1:follow=0 -r capture.pcapng -q

local script_arguments = { ... }

local prp = Proto("parmaprp", "PaRma Protocol")

-- The first is PRP-FRAME-1's; a cluster's prphosts may name another.
prp.prefs.ethertypes = Pref.range("EtherTypes", "0x88b5", "What PRP frames carry", 0xffff)
-- The first is PRP-UDP-2's; prphosts may name another, and "Decode as" serves any.
prp.prefs.udp_port = Pref.uint("UDP port of nodes", 5230, "The first of the 128 ports of a node")
prp.prefs.check_crc = Pref.bool("Verify CRC trailers", true,
    "Compute the CRC-32 trailer of each frame whose connection ids are known")

-- Bits ------------------------------------------------------------------------------------------

-- Lua 5.2 has a library, Lua 5.3 and later have operators, which 5.2 cannot parse.
local bits = bit32 or load([[return {
    band = function(a, b) return a & b end,
    bxor = function(a, b) return a ~ b end,
    rshift = function(a, n) return a >> n end,
}]])()
local band, bxor, rshift = bits.band, bits.bxor, bits.rshift

local function is_set(word, mask)
    return band(word, mask) ~= 0
end

-- The reflected polynomial of CRC-32 (IEEE), a byte at a time.
local crc_table = {}
for byte = 0, 255 do
    local crc = byte
    for _ = 1, 8 do
        crc = is_set(crc, 1) and bxor(rshift(crc, 1), 0xedb88320) or rshift(crc, 1)
    end
    crc_table[byte] = crc
end

local function crc32(text)
    local crc = 0xffffffff
    for at = 1, #text do
        crc = bxor(rshift(crc, 8), crc_table[band(bxor(crc, text:byte(at)), 0xff)])
    end
    return bxor(crc, 0xffffffff)
end

local function be32(number)
    return string.char(rshift(number, 24), band(rshift(number, 16), 0xff),
        band(rshift(number, 8), 0xff), band(number, 0xff))
end

-- Whole numbers also where 2 ^ 32 is a fraction's type, as in Lua 5.3 and later.
local SPANS = { [16] = 0x10000, [20] = 0x100000, [32] = 0x100000000 }
local WRAP = SPANS[32]

-- How far `number` is beyond `from`, negative if it is before it, of numbers with `width` bits.
local function since(number, from, width)
    local span = SPANS[width or 32]
    local ahead = (number - from) % span
    return ahead >= span / 2 and ahead - span or ahead
end

-- The number nearest to `near` whose low `width` bits are `low` (PRP-SEQ-3).
local function expand(low, width, near)
    return (near + since(low, near, width)) % WRAP
end

-- Fields ----------------------------------------------------------------------------------------

local CREQ, CACK, EOM, EOC, ACK, CTL, RST, RTX = 1, 2, 4, 8, 16, 32, 64, 128
local FLAG_NAMES = { "CREQ", "CACK", "EOM", "EOC", "ACK", "CTL", "RST", "RTX" }
local FLAG_TITLES = {
    "Connection request", "Connection acknowledge", "End of message", "End of connection",
    "Acknowledgement", "Control block", "Reset", "Sent before",
}
local POLICIES = { "detect", "go-back-n", "selective-repeat" }
local REASONS = {
    [1] = "refused", [2] = "aborted", [3] = "no connection", [4] = "gap", [5] = "no common policy",
    [6] = "timed out",
}
local KINDS = {
    [1] = "acknowledgement", [2] = "probe", [3] = "size probe", [4] = "size probe answer",
    [5] = "part", [16] = "echo", [17] = "echo reply", [18] = "time exceeded", [19] = "unreachable",
    [20] = "too big", [24] = "liveness",
}
local LIVENESS_STATES = { [0] = "admin-down", [1] = "down", [2] = "init", [3] = "up" }
local SEAL = 2
local MODES = { [0] = "off", [1] = "sign", [SEAL] = "seal" }
local CRC_STATES = { [0] = "wrong", [1] = "right", [2] = "not verified" }

local f = prp.fields
local function field(name, constructor, title, ...)
    f[name] = constructor("parmaprp." .. name, title, ...)
end

field("src", ProtoField.uint16, "Source node", base.DEC)
field("dst", ProtoField.uint16, "Destination node", base.DEC)
field("node", ProtoField.uint16, "Source or destination node", base.DEC)
field("srcport", ProtoField.uint16, "Source port", base.DEC)
field("dstport", ProtoField.uint16, "Destination port", base.DEC)
field("port", ProtoField.uint16, "Source or destination port", base.DEC)
field("stream", ProtoField.uint32, "Stream index", base.DEC)
field("seq_low", ProtoField.uint16, "Segment number, low 16 bits", base.DEC)
field("seq", ProtoField.uint32, "Segment number", base.DEC)
field("seq_relative", ProtoField.uint32, "Segment number, relative", base.DEC)
field("len", ProtoField.uint16, "Length", base.DEC)
field("flags", ProtoField.uint32, "Flags", base.HEX)
for at, name in ipairs(FLAG_NAMES) do
    local title = FLAG_TITLES[at] .. " (" .. name .. ")"
    field("flags." .. name:lower(), ProtoField.bool, title, 32, nil, 2 ^ (at - 1))
end
field("flags.epoch", ProtoField.uint32, "Segment number, bits 16 to 19", base.DEC, nil, 0xf00)
field("flags.hops", ProtoField.uint32, "Routers crossed", base.DEC, nil, 0xf000)
field("flags.ackno", ProtoField.uint32, "Next segment expected, low 16 bits", base.DEC, nil,
    0xffff0000)
field("ack", ProtoField.uint32, "Next segment expected", base.DEC)
field("ack_relative", ProtoField.uint32, "Next segment expected, relative", base.DEC)
field("data", ProtoField.bytes, "Data")

field("options.version", ProtoField.uint8, "Version", base.DEC)
field("options.policies", ProtoField.uint8, "Policies", base.HEX)
for at, name in ipairs(POLICIES) do
    field("options.policies." .. name:gsub("-", "_"), ProtoField.bool, name, 8, nil, 2 ^ (at - 1))
end
field("options.wishes", ProtoField.uint8, "Wishes", base.HEX)
field("options.wishes.crc", ProtoField.bool, "CRC trailer", 8, nil, 1)
field("options.id", ProtoField.uint32, "Connection id of the sender", base.HEX)
field("options.answers", ProtoField.uint32, "Id of the request it answers", base.HEX)
field("options.largest", ProtoField.uint16, "Largest segment", base.DEC)
field("options.window", ProtoField.uint32, "Segments there is room for", base.DEC)
field("options.option", ProtoField.bytes, "Option")
field("options.option.type", ProtoField.uint8, "Type", base.DEC)
field("options.option.length", ProtoField.uint8, "Length", base.DEC)
field("options.option.value", ProtoField.bytes, "Value")
field("options.key.version", ProtoField.uint8, "Version", base.DEC)
field("options.key.mode", ProtoField.uint8, "Mode", base.DEC, MODES)
field("options.key.id", ProtoField.uint16, "Id of the secret", base.DEC)
field("options.key.public", ProtoField.bytes, "Public key")
field("options.key.nonce", ProtoField.bytes, "Nonce")
field("options.key.tag", ProtoField.bytes, "Tag")

field("control.kind", ProtoField.uint8, "Kind", base.DEC, KINDS)
field("control.flags", ProtoField.uint8, "Flags", base.HEX)
field("control.flags.gap", ProtoField.bool, "Something after a gap has arrived", 8, nil, 1)
field("control.flags.arrived", ProtoField.bool, "Arrived last is meaningful", 8, nil, 2)
field("control.flags.again", ProtoField.bool, "What arrived last had been sent before", 8, nil, 4)
field("control.flags.probe", ProtoField.bool, "It answers a probe", 8, nil, 8)
field("control.flags.finished", ProtoField.bool, "The sender has finished", 8, nil, 16)
field("control.flags.leaves", ProtoField.bool, "The sender's process is about to end", 8, nil, 32)
field("control.count", ProtoField.uint8, "Bitmap words", base.DEC)
field("control.number", ProtoField.uint8, "Number of the probe", base.DEC)
field("control.to", ProtoField.uint32, "Connection id of the receiver", base.HEX)
field("control.from", ProtoField.uint32, "Connection id of the sender", base.HEX)
field("control.next", ProtoField.uint32, "Next segment expected", base.DEC)
field("control.next_relative", ProtoField.uint32, "Next segment expected, relative", base.DEC)
field("control.window", ProtoField.uint32, "Window in segments", base.DEC)
field("control.arrived", ProtoField.uint32, "Arrived last", base.DEC)
field("control.arrived_relative", ProtoField.uint32, "Arrived last, relative", base.DEC)
field("control.held", ProtoField.uint32, "Held for, ns", base.DEC)
field("control.bitmap", ProtoField.bytes, "Bitmap of what has arrived beyond the gap")
field("control.received", ProtoField.uint32, "Arrived beyond the gap", base.DEC)
field("control.received_relative", ProtoField.uint32, "Arrived beyond the gap, relative", base.DEC)
field("control.size", ProtoField.uint16, "Payload bytes", base.DEC)
field("control.fill", ProtoField.bytes, "Fill")
field("control.flags.eom", ProtoField.bool, "The segment ends a message", 8, nil, 1)
field("control.flags.eoc", ProtoField.bool, "The segment ends the stream", 8, nil, 2)
field("control.part_of", ProtoField.uint32, "Number of the segment", base.DEC)
field("control.part_at", ProtoField.uint16, "Bytes of the segment before these", base.DEC)
field("control.part_total", ProtoField.uint16, "Bytes of the segment", base.DEC)
field("control.part", ProtoField.bytes, "Bytes of the segment")

field("reset.reason", ProtoField.uint16, "Reason", base.DEC, REASONS)
field("reset.to", ProtoField.uint32, "Connection id of the receiver", base.HEX)
field("reset.from", ProtoField.uint32, "Connection id of the sender", base.HEX)

field("echo.hops", ProtoField.uint8, "Routers the echo crossed", base.DEC)
field("echo.sequence", ProtoField.uint16, "Sequence", base.DEC)
field("echo.id", ProtoField.uint32, "Id of the asker", base.HEX)
field("echo.stamp", ProtoField.uint64, "Time stamp of the asker", base.DEC)

field("liveness.state", ProtoField.uint8, "State", base.DEC, LIVENESS_STATES)
field("liveness.multiplier", ProtoField.uint8, "Multiplier", base.DEC)
field("liveness.mine", ProtoField.uint32, "Number of the sender", base.DEC)
field("liveness.yours", ProtoField.uint32, "Number of the receiver", base.DEC)
field("liveness.interval", ProtoField.uint32, "Interval of the sender, us", base.DEC)
field("liveness.least", ProtoField.uint32, "Least interval it takes, us", base.DEC)

field("liveness.number", ProtoField.uint64, "Number of the probe", base.DEC)

field("reserved", ProtoField.bytes, "Reserved")
field("unknown", ProtoField.bytes, "Unknown bytes")
field("crc", ProtoField.uint32, "CRC-32 trailer", base.HEX)
field("crc.status", ProtoField.uint8, "CRC-32 trailer is", base.DEC, CRC_STATES)
field("key.mode", ProtoField.uint8, "Protection by the cluster key", base.DEC, MODES)
field("key.nodes", ProtoField.uint16, "Keys of nodes, 1 with them", base.DEC)
field("key.id", ProtoField.uint32, "Id of the secret", base.DEC)
field("key.epoch", ProtoField.uint8, "Epoch of its keys, low 8 bits", base.DEC)
field("key.frame", ProtoField.uint24, "Frame of the epoch", base.DEC)
field("key.tag", ProtoField.bytes, "Tag")
field("key.sealed", ProtoField.bytes, "Sealed bytes")
field("padding", ProtoField.bytes, "Padding")
field("analysis.missing", ProtoField.uint32, "Segments missing before this one", base.DEC)
field("analysis.sent_in", ProtoField.framenum, "Seen before in frame")

local notes = prp.experts
local function note(name, group, severity, text)
    notes[name] = ProtoExpert.new("parmaprp.expert." .. name, text, group, severity)
end
note("malformed", expert.group.MALFORMED, expert.severity.ERROR, "Malformed frame")
note("unknown", expert.group.UNDECODED, expert.severity.WARN, "Not in the specification")
note("crc", expert.group.CHECKSUM, expert.severity.ERROR, "Wrong CRC-32 trailer: a lost frame")
note("gap", expert.group.SEQUENCE, expert.severity.WARN, "Segments before it were not captured")
note("repeated", expert.group.SEQUENCE, expert.severity.NOTE, "Segment sent again")
note("late", expert.group.SEQUENCE, expert.severity.NOTE, "Segment out of order")
note("reported_gap", expert.group.SEQUENCE, expert.severity.NOTE, "The receiver lacks a segment")
note("closed_window", expert.group.SEQUENCE, expert.severity.WARN, "The receiver has no room")
note("reset", expert.group.SEQUENCE, expert.severity.WARN, "Connection refused or reset")
note("opened", expert.group.SEQUENCE, expert.severity.CHAT, "Connection requested or granted")
note("closed", expert.group.SEQUENCE, expert.severity.CHAT, "End of one direction")

-- Streams ---------------------------------------------------------------------------------------

local streams        -- how many there are
local conversations  -- by ends: { current, pending = requests by id }
local frames         -- by frame number and offset: what the first pass found out

function prp.init()
    streams, conversations, frames = 0, {}, {}
end

local function new_stream()
    local stream = { index = streams, sides = {} }
    streams = streams + 1
    return stream
end

-- What is known of one end: its id, its first number, and what it has sent, by the hops that was
-- seen with, since a capture on a router has each frame twice.
local function side_of(stream, name)
    local side = stream.sides[name] or { seen = {} }
    stream.sides[name] = side
    return side
end

-- The stream of a request. One with a new id changes nothing while a connection stands
-- (PRP-CONN-7).
local function requested(conversation, h, id)
    local current = conversation.current
    if current then
        local own, other = side_of(current, h.from), side_of(current, h.to)
        local crossing = not own.id and other.id and not current.granted
        if own.id == id or crossing then return current end
    end
    local stream = conversation.pending[id] or new_stream()
    conversation.pending[id] = stream
    if not current or current.over then conversation.current = stream end
    return stream
end

local function granted(conversation, h, block)
    local stream, current = conversation.pending[block.answers], conversation.current
    if not stream then
        -- Its request was not captured.
        local own = current and (not current.granted or side_of(current, h.to).id == block.answers)
        stream = own and current or new_stream()
    end
    conversation.current = stream
    stream.granted, stream.crc, stream.key = true, block.crc or false, block.key
    stream.width = block.classic and 16 or 20
    if not block.classic then side_of(stream, h.to).id = block.answers end
    return stream
end

-- The stream of a frame that is no handshake, which may have begun before the capture.
local function standing(conversation)
    conversation.current = conversation.current or new_stream()
    return conversation.current
end

local function conversation_of(h)
    local ends = { h.from, h.to }
    table.sort(ends)
    local key = table.concat(ends, " ")
    conversations[key] = conversations[key] or { pending = {} }
    return conversations[key]
end

-- The first number of the end that a frame is for, which its acknowledgements count from.
local function first_of_peer(h)
    local current = conversation_of(h).current
    return current and side_of(current, h.to).first
end

local function stream_of(h, block)
    local conversation = conversation_of(h)
    local handshake = is_set(h.flags, CREQ + CACK) and not is_set(h.flags, RST)
    if not handshake then return standing(conversation) end
    local id = block.id or "classic " .. h.seq_low
    local stream = is_set(h.flags, CACK) and granted(conversation, h, block)
        or requested(conversation, h, id)
    local side = side_of(stream, h.from)
    side.id, side.first = block.id, h.seq
    side.latest = side.latest or h.seq
    return stream
end

-- Compares a segment with what its end has sent before.
local function follow_numbers(info, h, stream, side)
    local seen = side.seen[h.hops]
    if not seen then
        -- Of another path only what comes from now on is known.
        local from_the_start = next(side.seen) == nil and side.first
        seen = { next = from_the_start or info.seq, missing = {} }
        side.seen[h.hops] = seen
    end
    local ahead = since(info.seq, seen.next)
    if seen[info.seq] then
        info.sent_in = seen[info.seq]
    elseif ahead >= 0 then
        if ahead > 0 then info.missing = ahead end
        -- No window is larger than 1024 segments (PRP-WIN-3).
        for back = 1, math.min(ahead, 1024) do seen.missing[(info.seq - back) % WRAP] = true end
        seen.next = (info.seq + 1) % WRAP
    elseif seen.missing[info.seq] then
        seen.missing[info.seq] = nil
        info.late = true
    end
    seen[info.seq] = seen[info.seq] or h.frame
    if is_set(h.flags, EOC) then
        side.ended = true
        local other = side_of(stream, h.to)
        if other.ended then stream.over = true end
    end
end

-- What the first pass over a frame finds out. A frame with a wrong trailer is a lost one.
local function learn(h, block, stream)
    local info = { stream = stream and stream.index, crc = h.crc_state }
    if not stream or block.bad or h.crc_state == 0 then return info end
    local side, other = side_of(stream, h.from), side_of(stream, h.to)
    local width = stream.width or 20
    info.seq = expand(h.seq, width, side.latest or h.seq)
    if h.takes_number then
        side.first = side.first or info.seq
        follow_numbers(info, h, stream, side)
        if not side.latest or since(info.seq, side.latest) > 0 then side.latest = info.seq end
    elseif is_set(h.flags, RST) and block.to ~= 0 and (block.to == other.id or not other.id) then
        stream.over = true
    end
    if side.first then info.relative = since(info.seq, side.first) end
    if is_set(h.flags, ACK) and other.latest then
        info.ack = expand(h.ackno, 16, other.latest)
        if other.first then info.ack_relative = since(info.ack, other.first) end
    end
    return info
end

-- Blocks ----------------------------------------------------------------------------------------

-- Reads the payload from the front, and says where it ends too early.
local Reader = {}
Reader.__index = Reader

local function reader(tvb, tree)
    return setmetatable({ tvb = tvb, tree = tree, at = 0 }, Reader)
end

function Reader:left()
    return self.tvb:len() - self.at
end

-- Adds the next bytes under the name of a field. Returns their number, if they are one, the item
-- and their range.
function Reader:take(name, length)
    if self.short or self:left() < length then
        self.short = true
        return 0
    end
    if length == 0 then return 0 end
    local range = self.tvb(self.at, length)
    self.at = self.at + length
    local item = self.tree:add(f[name], range)
    return length <= 4 and range:uint() or 0, item, range
end

-- The rest, under a name.
function Reader:rest(name)
    if not self.short and self:left() > 0 then return self:take(name, self:left()) end
end

local function add_bits(item, range, names)
    for _, name in ipairs(names) do item:add(f[name], range) end
end

-- The option of the cluster key, which is the last one (PRP-KEY-4).
local KEY_OPTION, KEY_OPTION_LEN = 1, 68

local function key_option(r, block)
    -- Version 2 has keys of nodes (PRP-KEY-22).
    local version = r:take("options.key.version", 1)
    block.unknown = version ~= 1 and version ~= 2 or block.unknown
    local mode, id = r:take("options.key.mode", 1), r:take("options.key.id", 2)
    r:take("options.key.public", 32)
    r:take("options.key.nonce", 16)
    r:take("options.key.tag", 16)
    if mode > 0 then block.key = { mode = mode, id = id } end
end

local function offer_block(r)
    local block = { kind = "options" }
    block.version = r:take("options.version", 1)
    local policies, item, range = r:take("options.policies", 1)
    if item then
        add_bits(item, range, { "options.policies.detect", "options.policies.go_back_n",
            "options.policies.selective_repeat" })
    end
    local wishes
    wishes, item, range = r:take("options.wishes", 1)
    if item then item:add(f["options.wishes.crc"], range) end
    r:take("reserved", 1)
    block.id = r:take("options.id", 4)
    block.answers = r:take("options.answers", 4)
    block.largest = r:take("options.largest", 2)
    r:take("reserved", 2)
    block.window = r:take("options.window", 4)
    block.crc = is_set(wishes, 1)
    -- A policy or a wish that later versions add (PRP-OPT-6).
    block.unknown = block.version ~= 1 or policies > 7 or wishes > 1
    while not r.short and r:left() > 0 do
        local tree, whole = r.tree, r:left()
        if whole > 2 then whole = math.min(whole, 2 + r.tvb(r.at + 1, 1):uint()) end
        r.tree = tree:add(f["options.option"], r.tvb(r.at, whole))
        local kind = r:take("options.option.type", 1)
        local length = r:take("options.option.length", 1)
        if kind == KEY_OPTION and length == KEY_OPTION_LEN then
            key_option(r, block)
        else
            r:take("options.option.value", length)
            block.unknown = true
        end
        r.tree = tree
    end
    -- PRP-OPT-6.
    block.bad = r.short or block.version == 0 or block.id == 0 or block.largest < 64
    local offered = {}
    for at, name in ipairs(POLICIES) do
        if is_set(policies, 2 ^ (at - 1)) then table.insert(offered, name) end
    end
    local key = block.key and " " .. (MODES[block.key.mode] or "?") .. " key " .. block.key.id
    block.text = string.format("%s%s Win=%d Max=%d%s", table.concat(offered, "/"),
        block.crc and " CRC" or "", block.window, block.largest, key or "")
    return block
end

-- Bit i of the bitmap, least significant first, stands for number next + 1 + i (PRP-CTL-2).
local function received_segments(r, next_expected, count, peer_first)
    for word = 0, count - 1 do
        local _, _, range = r:take("control.bitmap", 8)
        local data = range:bytes()
        for at = 0, 63 do
            if is_set(data:get_index(7 - math.floor(at / 8)), 2 ^ (at % 8)) then
                local number = (next_expected + 1 + 64 * word + at) % WRAP
                r.tree:add(f["control.received"], number):set_generated()
                if peer_first then
                    local distance = since(number, peer_first)
                    r.tree:add(f["control.received_relative"], distance):set_generated()
                end
            end
        end
    end
end

local function acknowledgement(r, block, peer_first)
    local item
    local function relative(name, number)
        if not peer_first or not item then return number end
        local distance = since(number, peer_first)
        r.tree:add(f[name], distance):set_generated()
        return distance
    end
    block.next, item = r:take("control.next", 4)
    local shown = relative("control.next_relative", block.next)
    block.window = r:take("control.window", 4)
    block.arrived, item = r:take("control.arrived", 4)
    if is_set(block.flags, 2) then relative("control.arrived_relative", block.arrived) end
    r:take("control.held", 4)
    if block.count > 16 then r.short = true end
    if not r.short and r:left() < 8 * block.count then r.short = true end
    if not r.short then received_segments(r, block.next, block.count, peer_first) end
    block.gap, block.closed = is_set(block.flags, 1), block.window == 0
    block.text = string.format("acknowledgement Next=%d Win=%d", shown, block.window)
end

-- Bytes of a segment that is too long for the path by now (PRP-CTL-5).
local function part(r, block)
    local of = r:take("control.part_of", 4)
    local at, total = r:take("control.part_at", 2), r:take("control.part_total", 2)
    local bytes = r:left()
    if bytes > 0 then r:take("control.part", bytes) end
    block.beyond = at + bytes > total
    block.text = string.format("part %d..%d of %d of segment %d", at, at + bytes, total, of)
end

local function control_block(r, peer_first)
    local block = { kind = "control" }
    local kind = r:take("control.kind", 1)
    local item, range
    block.flags, item, range = r:take("control.flags", 1)
    if item and kind == 5 then
        add_bits(item, range, { "control.flags.eom", "control.flags.eoc" })
    elseif item then
        add_bits(item, range, { "control.flags.gap", "control.flags.arrived", "control.flags.again",
            "control.flags.probe", "control.flags.finished", "control.flags.leaves" })
    end
    block.count = r:take("control.count", 1)
    local number = r:take("control.number", 1)
    block.to = r:take("control.to", 4)
    block.text = KINDS[kind]
    local known = ({ 63, 0, 0, 0, 3 })[kind] or 0
    block.unknown = block.flags > known or kind ~= 1 and block.count ~= 0
    if kind == 1 then
        acknowledgement(r, block, peer_first)
    elseif kind == 2 then
        block.from = r:take("control.from", 4)
        block.text = "probe " .. number
    elseif kind == 3 then
        local size = r:take("control.size", 2)
        r:rest("control.fill")
        block.text = "size probe " .. size
    elseif kind == 4 then
        block.text = "size probe answer " .. r:take("control.size", 2)
    elseif kind == 5 then
        part(r, block)
    else
        block.unknown = true
    end
    -- An end drops a block of a kind that it does not know.
    block.bad = r.short or block.beyond or kind < 1 or kind > 5
    return block
end

-- A control block of which all but the ids is encrypted (PRP-KEY-10).
local function sealed_block(r)
    local block = { kind = "control" }
    local kind = r:take("control.kind", 1)
    block.flags = r:take("control.flags", 1)
    r:take("control.count", 1)
    r:take("control.number", 1)
    block.to = r:take("control.to", 4)
    if kind == 2 then block.from = r:take("control.from", 4) end
    r:rest("key.sealed")
    block.text = (KINDS[kind] or "?") .. " sealed"
    block.unknown = kind < 1 or kind > 5
    block.bad = r.short or block.unknown
    return block
end

-- What goes between control ports (PRP-NODE-1, PRP-LIVE-1).
local function node_block(r)
    local block = { kind = "node" }
    local kind = r:take("control.kind", 1)
    block.text = KINDS[kind]
    if kind == 24 then
        local state = r:take("liveness.state", 1)
        r:take("liveness.multiplier", 1)
        r:take("reserved", 1)
        for _, name in ipairs({ "mine", "yours", "interval", "least" }) do
            r:take("liveness." .. name, 4)
        end
        -- One that is signed (PRP-LIVE-6).
        if r:left() >= 8 then r:take("liveness.number", 8) end
        block.unknown = LIVENESS_STATES[state] == nil
        block.dropped = block.unknown
        block.text = "liveness " .. (LIVENESS_STATES[state] or state)
    elseif kind >= 16 and kind <= 20 then
        r:take("echo.hops", 1)
        block.text = string.format("%s %d", block.text, (r:take("echo.sequence", 2)))
        r:take("echo.id", 4)
        r:take("echo.stamp", 8)
        r:rest("control.fill")
    else
        block.unknown, block.dropped = true, true
    end
    block.bad = r.short or block.dropped
    return block
end

local function reset_block(r)
    local block = { kind = "reset" }
    local reason = r:take("reset.reason", 2)
    r:take("reserved", 2)
    block.to = r:take("reset.to", 4)
    r:take("reset.from", 4)
    block.bad, block.unknown = r.short, not r.short and REASONS[reason] == nil
    block.text = REASONS[reason] or "reason " .. reason
    return block
end

-- What the payload of a frame is, in words, before it is looked at.
local function block_title(h)
    if is_set(h.flags, RST) then return "Reset block", reset_block end
    if is_set(h.flags, CREQ + CACK) then return "Options", offer_block end
    if not is_set(h.flags, CTL) then return nil end
    if h.srcport == 0 or h.dstport == 0 then return "Node block", node_block end
    return "Control block", control_block
end

-- Adds the payload to the tree and returns what it says.
local function payload_block(h, tvb, tree, peer_first, key)
    local title, parse = block_title(h)
    local is_sealed = key and key.mode == SEAL
    if not title then
        if tvb then tree:add(is_sealed and f["key.sealed"] or f.data, tvb()) end
        return {}
    end
    if is_sealed and parse == control_block then parse = sealed_block end
    if not tvb then
        -- A request or grant of a classic peer (PRP-OPT-1); no other block may be empty.
        local classic = is_set(h.flags, CREQ + CACK) and not is_set(h.flags, RST)
        return { classic = classic, bad = not classic, text = classic and "classic" or nil }
    end
    local r = reader(tvb, tree:add(tvb(), title))
    local block = parse(r, peer_first)
    -- Of a block that is cut off, what it lacks is all there is to say.
    if r.short then r.short, block.bad, block.unknown = false, true, false end
    if r:left() > 0 then
        r:take("unknown", r:left())
        block.unknown = not block.bad or block.unknown
    end
    return block
end

-- Frames ----------------------------------------------------------------------------------------

-- Headers of 4 and 12 bytes (paper 2.4 and 2.5).
local HEADER_LEN, CRC_LEN = 16, 4

-- The counter or the id of a secret, and the tag (PRP-KEY-9, PRP-KEY-13).
local KEY_TRAILER_LEN = 20

local function flag_text(flags)
    local names = {}
    for at, name in ipairs(FLAG_NAMES) do
        if is_set(flags, 2 ^ (at - 1)) then table.insert(names, name) end
    end
    return #names > 0 and " [" .. table.concat(names, ", ") .. "]" or ""
end

local function read_header(tvb, pinfo)
    local h = {
        frame = pinfo.number,
        src = tvb(0, 2):uint(), dst = tvb(2, 2):uint(),
        srcport = tvb(4, 2):uint(), dstport = tvb(6, 2):uint(),
        seq_low = tvb(8, 2):uint(), len = tvb(10, 2):uint(), flags = tvb(12, 4):uint(),
    }
    h.hops = band(rshift(h.flags, 12), 15)
    h.ackno = rshift(h.flags, 16)
    h.seq = band(rshift(h.flags, 8), 15) * 65536 + h.seq_low
    h.from, h.to = h.src .. ":" .. h.srcport, h.dst .. ":" .. h.dstport
    h.takes_number = not is_set(h.flags, CREQ + CACK + CTL + RST)
    h.for_node = h.srcport == 0 or h.dstport == 0
    return h
end

local function add_hidden(tree, name, range)
    tree:add(f[name], range):set_hidden()
end

local function add_header(tvb, tree, h)
    tree:add(f.src, tvb(0, 2))
    tree:add(f.dst, tvb(2, 2))
    add_hidden(tree, "node", tvb(0, 2))
    add_hidden(tree, "node", tvb(2, 2))
    tree:add(f.srcport, tvb(4, 2))
    tree:add(f.dstport, tvb(6, 2))
    add_hidden(tree, "port", tvb(4, 2))
    add_hidden(tree, "port", tvb(6, 2))
    tree:add(f.seq_low, tvb(8, 2))
    tree:add(f.seq, h.seq):set_generated()
    tree:add(f.len, tvb(10, 2))
    local flags = tree:add(f.flags, tvb(12, 4))
    flags:append_text(flag_text(h.flags))
    for _, name in ipairs(FLAG_NAMES) do flags:add(f["flags." .. name:lower()], tvb(12, 4)) end
    flags:add(f["flags.epoch"], tvb(12, 4))
    flags:add(f["flags.hops"], tvb(12, 4))
    if is_set(h.flags, ACK) then flags:add(f["flags.ackno"], tvb(12, 4)) end
end

-- The ids a trailer is made under: false if the frame has none, nil if that is not known
-- (PRP-CRC-1, PRP-CRC-3).
local function crc_key(h, block, stream)
    if block.classic or h.signed then return false end
    if h.for_node or is_set(h.flags, CREQ + CACK + RST) then return string.rep("\0", 8) end
    if not stream or stream.crc == nil then return nil end
    if not stream.crc or stream.key then return false end
    local from, to = side_of(stream, h.from).id, side_of(stream, h.to).id
    if not from or not to then return nil end
    return be32(from) .. be32(to)
end

-- The checksum over the key, the headers with HOPS as zero, and the payload (PRP-CRC-1).
local function checksum(tvb, h, key)
    local covered = tvb:raw(0, HEADER_LEN + h.len)
    -- HOPS is the upper half of the flags' third byte.
    local epoch = string.char(band(covered:byte(15), 0x0f))
    return crc32(key .. covered:sub(1, 14) .. epoch .. covered:sub(16))
end

-- 0 wrong, 1 right, 2 not verified, nil no trailer.
local function crc_state(tvb, h, key)
    local at = HEADER_LEN + h.len
    if key == false then return nil end
    local there = tvb:reported_len() - at >= CRC_LEN
    if key == nil then return there and not is_set(h.flags, RST) and 2 or nil end
    if not there then return 0 end
    if not prp.prefs.check_crc or tvb:len() < at + CRC_LEN then return 2 end
    return tvb(at, CRC_LEN):uint() == checksum(tvb, h, key) and 1 or 0
end

-- The id of the secret that has signed a frame outside connections, if one has (PRP-KEY-13).
local function signed_with(tvb, h)
    local at = HEADER_LEN + h.len
    local outside = h.for_node or is_set(h.flags, RST)
    if not outside or tvb:len() - at < KEY_TRAILER_LEN then return nil end
    local id = tvb(at, 4):uint()
    -- Keys of nodes add 2^16 (PRP-KEY-22).
    if id % 0x10000 == 0 or id > 0x1ffff then return nil end
    return id ~= checksum(tvb, h, string.rep("\0", 8)) and id % 0x10000 or nil
end

-- The protection of a frame of a connection, as the answer to its request has agreed on it.
local function agreed(h)
    if h.for_node or is_set(h.flags, CREQ + CACK + RST) then return nil end
    local current = conversation_of(h).current
    return current and current.key
end

-- Adds what protects a frame; where it ends.
local function add_key_trailer(tvb, tree, h, info)
    local at, key = HEADER_LEN + h.len, info.key
    tree:add(f["key.mode"], key.mode):set_generated()
    if tvb:len() < at + KEY_TRAILER_LEN then
        if not info.signed then tree:add(f["key.id"], key.id):set_generated() end
        return at
    end
    if info.signed then
        tree:add(f["key.nodes"], tvb(at, 2))
        tree:add(f["key.id"], tvb(at + 2, 2))
    else
        tree:add(f["key.id"], key.id):set_generated()
        tree:add(f["key.epoch"], tvb(at, 1))
        tree:add(f["key.frame"], tvb(at + 1, 3))
    end
    tree:add(f["key.tag"], tvb(at + 4, 16))
    return at + KEY_TRAILER_LEN
end

local function add_trailer(tvb, tree, h, info)
    local at = HEADER_LEN + h.len
    if info.key then at = add_key_trailer(tvb, tree, h, info) end
    if info.crc and tvb:len() >= at + CRC_LEN then
        tree:add(f.crc, tvb(at, CRC_LEN))
        at = at + CRC_LEN
    end
    if info.crc then
        local item = tree:add(f["crc.status"], info.crc):set_generated()
        if info.crc == 0 then item:add_proto_expert_info(notes.crc) end
    end
    -- Short frames are filled up to 60 bytes (PRP-FRAME-4).
    if tvb:len() > at then tree:add(f.padding, tvb(at)) end
end

local function add_analysis(tree, h, block, info)
    if info.missing then
        local item = tree:add(f["analysis.missing"], info.missing):set_generated()
        local text = info.missing .. " segments before it were not captured"
        item:add_proto_expert_info(notes.gap, text)
    end
    if info.sent_in then
        tree:add(f["analysis.sent_in"], info.sent_in):set_generated()
    end
    if info.sent_in or is_set(h.flags, RTX) then
        tree:add_proto_expert_info(notes.repeated)
    elseif info.late then
        tree:add_proto_expert_info(notes.late)
    end
    if is_set(h.flags, RST) then
        tree:add_proto_expert_info(notes.reset, "Reset: " .. (block.text or "?"))
    elseif is_set(h.flags, CREQ + CACK) then
        tree:add_proto_expert_info(notes.opened)
    elseif is_set(h.flags, EOC) then
        tree:add_proto_expert_info(notes.closed)
    end
    if block.bad then tree:add_proto_expert_info(notes.malformed) end
    if block.unknown then tree:add_proto_expert_info(notes.unknown) end
    if block.bad then return end
    if block.gap then tree:add_proto_expert_info(notes.reported_gap) end
    if block.closed then tree:add_proto_expert_info(notes.closed_window) end
end

local function add_numbers(tree, info)
    if info.stream then tree:add(f.stream, info.stream):set_generated() end
    for _, pair in ipairs({ { "seq_relative", "relative" }, { "ack", "ack" },
        { "ack_relative", "ack_relative" } }) do
        local number = info[pair[2]]
        if number and number >= 0 then tree:add(f[pair[1]], number):set_generated() end
    end
end

local function describe(pinfo, h, block, info)
    local text = string.format("%d → %d%s", h.srcport, h.dstport, flag_text(h.flags))
    if h.takes_number then text = text .. " Seq=" .. (info.relative or h.seq) end
    if info.ack_relative then text = text .. " Ack=" .. info.ack_relative end
    text = text .. " Len=" .. h.len
    if h.hops > 0 then text = text .. " Hops=" .. h.hops end
    if block.text then text = text .. " " .. block.text end
    pinfo.cols.protocol = "PRP"
    pinfo.cols.src = tostring(h.src)
    pinfo.cols.dst = tostring(h.dst)
    pinfo.cols.info = text
    return text
end

local function bad_frame(tvb, tree, pinfo, why)
    pinfo.cols.protocol = "PRP"
    pinfo.cols.info = why
    tree:add_proto_expert_info(notes.malformed, why)
    if tvb:len() > 0 then tree:add(f.unknown, tvb()) end
    return why
end

-- A packet, which is all of `tvb`; what it says in a line.
local function packet(tvb, pinfo, root)
    local tree = root:add(prp, tvb())
    if tvb:len() < HEADER_LEN then
        return bad_frame(tvb, tree, pinfo, "Frame shorter than its headers")
    end
    local h = read_header(tvb, pinfo)
    local reserved = h.src % 65535 == 0 or h.dst % 65535 == 0
    if reserved then return bad_frame(tvb, tree, pinfo, "Reserved node number") end
    if HEADER_LEN + h.len > tvb:reported_len() then
        return bad_frame(tvb, tree, pinfo, "Length beyond the end of the frame")
    end
    tree:append_text(string.format(", %s > %s%s", h.from, h.to, flag_text(h.flags)))
    add_header(tvb, tree, h)
    -- A capture may have cut the frame.
    local here = math.min(h.len, tvb:len() - HEADER_LEN)
    local payload = here > 0 and tvb(HEADER_LEN, here):tvb() or nil
    local infos = frames[h.frame] or {}
    frames[h.frame] = infos
    local info = infos[tvb:offset()]
    local peer_first = info and info.peer_first
    if not info and not h.for_node then peer_first = first_of_peer(h) end
    h.signed = signed_with(tvb, h)
    local key = h.signed and { mode = 1, id = h.signed }
    if not key then
        if info then key = info.key else key = agreed(h) end
    end
    local block = payload_block(h, payload, tree, peer_first, key)
    if not info then
        local stream
        h.crc_state = crc_state(tvb, h, crc_key(h, block))
        if not h.for_node and h.crc_state ~= 0 then
            if block.bad then
                stream = conversation_of(h).current
            else
                stream = stream_of(h, block)
            end
            h.crc_state = crc_state(tvb, h, crc_key(h, block, stream))
        end
        info = learn(h, block, stream)
        info.from, info.peer_first, info.key, info.signed = h.from, peer_first, key, h.signed
        info.data = h.takes_number and { offset = tvb:offset() + HEADER_LEN, len = h.len }
        infos[tvb:offset()] = info
    end
    add_numbers(tree, info)
    add_trailer(tvb, tree, h, info)
    add_analysis(tree, h, block, info)
    return describe(pinfo, h, block, info)
end

-- Over Ethernet a frame is a packet.
function prp.dissector(tvb, pinfo, root)
    packet(tvb, pinfo, root)
    return tvb:len()
end

-- UDP -------------------------------------------------------------------------------------------

local udp = Proto("parmaprp_udp", "PaRma Protocol over UDP")
udp.fields.address = ProtoField.ipv6("parmaprp_udp.address", "Handed on, from the address")
udp.fields.port = ProtoField.uint16("parmaprp_udp.port", "Handed on, from the port", base.DEC)

-- What stands before a packet that its node's own port hands on to a process (PRP-UDP-2).
local HANDED_ON_LEN = 18

-- Nothing else comes from a node's own port, and it goes to the same machine.
local function is_handed_on(tvb, pinfo)
    return pinfo.src_port == prp.prefs.udp_port and pinfo.dst_port ~= prp.prefs.udp_port
        and tostring(pinfo.net_src) == tostring(pinfo.net_dst) and tvb:len() >= HANDED_ON_LEN
end

-- What a message between devices begins with, in place of two nodes (PRP-UDP-7), and the bytes of
-- one before a probe's pattern.
local MESSAGE_MARK = "\0\0\0\0"
local MESSAGE_LEN = 12
local PROBE = 1
local message_kinds = { [PROBE] = "Probe of GSO batches", [2] = "Report on probes" }
udp.fields.kind = ProtoField.uint8("parmaprp_udp.kind", "Kind", base.DEC, message_kinds)
udp.fields.index = ProtoField.uint8("parmaprp_udp.index", "Index", base.DEC)
udp.fields.came = ProtoField.uint16("parmaprp_udp.came", "Probes that have come", base.HEX)
udp.fields.test = ProtoField.uint32("parmaprp_udp.test", "Test", base.DEC)
udp.fields.pattern = ProtoField.bytes("parmaprp_udp.pattern", "Pattern")

local function is_message(tvb)
    return tvb:len() >= MESSAGE_LEN and tvb:raw(0, #MESSAGE_MARK) == MESSAGE_MARK
end

-- How long the message at `at` is. Captures of the sender have probes in GSO batches: the next one
-- begins as this one does, with an index that is higher by 1.
local function message_len(tvb, at)
    local left = tvb:len() - at
    if left < 2 * MESSAGE_LEN then return left end
    local head = tvb:raw(at, MESSAGE_LEN)
    local index = string.char((head:byte(6) + 1) % 256)
    local next_at = tvb:raw(at + 1, left - 1):find(head:sub(1, 5) .. index .. head:sub(7), 1, true)
    return next_at or left
end

-- The messages that are all of `tvb`.
local function messages(tvb, pinfo, root)
    local at, count = 0, 0
    while at < tvb:len() do
        local len = message_len(tvb, at)
        local tree = root:add(udp, tvb(at, len))
        if len < MESSAGE_LEN or not message_kinds[tvb(at + 4, 1):uint()] then
            tree:add(udp.fields.pattern, tvb(at, len))
            tree:add_proto_expert_info(notes.malformed, "No message between devices")
        else
            tree:add(udp.fields.kind, tvb(at + 4, 1))
            tree:add(udp.fields.index, tvb(at + 5, 1))
            tree:add(udp.fields.came, tvb(at + 6, 2))
            tree:add(udp.fields.test, tvb(at + 8, 4))
            if len > MESSAGE_LEN then
                tree:add(udp.fields.pattern, tvb(at + MESSAGE_LEN, len - MESSAGE_LEN))
            end
        end
        at, count = at + len, count + 1
    end
    pinfo.cols.protocol = "PRP"
    pinfo.cols.info = message_kinds[tvb(4, 1):uint()] or "No message between devices"
    if count > 1 then pinfo.cols.info:append(string.format(" (a GSO batch of %d)", count)) end
    return tvb:len()
end

-- How long the packet at `at` is. A datagram has one packet (PRP-UDP-1), but captures of the sender
-- have the GSO batch that it gave to its kernel (PRP-UDP-6). With a trailer of either kind or
-- without, the header of the next packet has the same nodes.
local function packet_len(tvb, at)
    local left = tvb:len() - at
    if left < HEADER_LEN then return left end
    local whole = HEADER_LEN + tvb(at + 10, 2):uint()
    for _, len in ipairs({ whole, whole + CRC_LEN, whole + KEY_TRAILER_LEN }) do
        local next_at = at + len
        if left - len >= HEADER_LEN and tvb:raw(next_at, 4) == tvb:raw(at, 4)
            and HEADER_LEN + tvb(next_at + 10, 2):uint() <= left - len then
            return len
        end
    end
    return left
end

function udp.dissector(tvb, pinfo, root)
    local at, texts = 0, {}
    -- The address of what is handed on may begin with zeros as well.
    local handed_on = is_handed_on(tvb, pinfo)
    if not handed_on and is_message(tvb) then return messages(tvb, pinfo, root) end
    if handed_on then
        local tree = root:add(udp, tvb(0, HANDED_ON_LEN))
        tree:add(udp.fields.address, tvb(0, 16))
        tree:add(udp.fields.port, tvb(16, 2))
        at = HANDED_ON_LEN
        if tvb:len() == at then tree:add_proto_expert_info(notes.malformed, "No packet") end
    end
    while at < tvb:len() do
        local len = packet_len(tvb, at)
        table.insert(texts, (packet(tvb(at, len):tvb(), pinfo, root)))
        at = at + len
    end
    if #texts > 1 then
        pinfo.cols.info = string.format("%s (the first of a GSO batch of %d)", texts[1], #texts)
    end
    return tvb:len()
end

-- Tables ----------------------------------------------------------------------------------------

local ethertype_table = DissectorTable.get("ethertype")
local udp_table = DissectorTable.get("udp.port")
local ethertypes, udp_ports

-- A node's own port, and the 127 that follow (PRP-UDP-2).
local function ports_from(port)
    return port .. "-" .. math.min(port + 127, 65535)
end

local function register()
    if ethertypes then ethertype_table:remove(ethertypes, prp) end
    if udp_ports then udp_table:remove(udp_ports, udp) end
    ethertypes, udp_ports = prp.prefs.ethertypes, ports_from(prp.prefs.udp_port)
    ethertype_table:add(ethertypes, prp)
    udp_table:add(udp_ports, udp)
end

prp.prefs_changed = register
register()

-- Follow ----------------------------------------------------------------------------------------

-- Collects what the two ends of a stream have sent, each segment once and in order.
local Follower = {}
Follower.__index = Follower

local function follower(stream)
    return setmetatable({ stream = stream, ends = {}, names = {}, lines = {} }, Follower)
end

-- The first end that is seen, mostly the one that made the connection, has no indent.
function Follower:emit(name, data)
    if #data == 0 then return end
    local indent = name == self.names[1] and "" or "\t"
    table.insert(self.lines, indent .. data)
end

function Follower:packet(pinfo, tvb)
    local infos = frames[pinfo.number] or {}
    local offsets = {}
    for offset in pairs(infos) do table.insert(offsets, offset) end
    table.sort(offsets)
    for _, offset in ipairs(offsets) do self:segment(infos[offset], tvb) end
end

function Follower:segment(info, tvb)
    if info.stream ~= self.stream then return end
    local name = info.from
    if not self.ends[name] then
        self.ends[name] = { next = 0, waiting = {} }
        table.insert(self.names, name)
    end
    local source = self.ends[name]
    if not info.data or not info.relative or info.relative < source.next then return end
    local hex = info.data.len > 0 and tvb(info.data.offset, info.data.len):bytes():tohex(true) or ""
    source.waiting[info.relative] = source.waiting[info.relative] or hex
    while source.waiting[source.next] do
        self:emit(name, source.waiting[source.next])
        source.waiting[source.next] = nil
        source.next = source.next + 1
    end
end

-- What lies behind a gap is told with the gap.
function Follower:finish()
    for _, name in ipairs(self.names) do
        local source, numbers = self.ends[name], {}
        for number in pairs(source.waiting) do table.insert(numbers, number) end
        table.sort(numbers)
        for _, number in ipairs(numbers) do
            if number > source.next then
                self:emit(name, string.format("[%d segments missing]", number - source.next))
            end
            self:emit(name, source.waiting[number])
            source.next = number + 1
        end
        source.waiting = {}
    end
    local head = string.format("Stream: %d\nEnds: %s", self.stream, table.concat(self.names, " "))
    return head .. "\n" .. table.concat(self.lines, "\n")
end

local function follow(stream, finished)
    local collected = follower(stream)
    local listener = Listener.new("frame")
    function listener.packet(pinfo, tvb) collected:packet(pinfo, tvb) end
    function listener.reset() collected = follower(stream) end
    function listener.draw() finished(collected:finish()) end
    return listener
end

for _, argument in ipairs(script_arguments) do
    local stream = argument:match("^follow=(%d+)$")
    if stream then follow(tonumber(stream), print) end
end

if gui_enabled() and register_packet_menu then
    register_packet_menu("PRP/Follow stream", function(...)
        for _, shown in ipairs({ ... }) do
            if shown.name == "parmaprp.stream" then
                local window = TextWindow.new("PRP stream " .. tostring(shown.value))
                local listener = follow(shown.value, function(text) window:set(text) end)
                window:set_atclose(function() listener:remove() end)
                set_filter("parmaprp.stream == " .. tostring(shown.value))
                apply_filter()
                retap_packets()
            end
        end
    end, "parmaprp.stream")
end
