// An echo server, or a client of it with many connections at a time: `echo.js serve PORT`, or
// `echo.js call PORT HOST`.
const net = require("net");
const crypto = require("crypto");

const [what, port, host] = process.argv.slice(2);
const CONNECTIONS = 50, SIZE = 200000;

if (what === "serve") {
    net.createServer({ allowHalfOpen: true }, (socket) => {
        socket.on("error", () => {});
        socket.pipe(socket);
    }).listen(Number(port), "0.0.0.0");
} else {
    let right = 0;
    let open = CONNECTIONS;
    for (let n = 0; n < CONNECTIONS; n++) {
        const data = crypto.createHash("sha256").update(String(n)).digest();
        const sent = Buffer.alloc(SIZE, data);
        const parts = [];
        const socket = net.connect(Number(port), host, () => socket.end(sent));
        socket.on("data", (part) => parts.push(part));
        socket.on("error", (error) => console.log(error.code));
        socket.on("close", () => {
            if (Buffer.concat(parts).equals(sent)) right++;
            if (--open === 0) console.log(`${right} of ${CONNECTIONS} are right`);
        });
    }
}
