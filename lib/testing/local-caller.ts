/** Headers of a request to a handler without the web server in front: as that server says it of a caller on this machine. */
export const LOCAL_CALLER = { "x-parkade-address": "127.0.0.1", host: "localhost:3000" };
