/**
 * Node's `http`. Importing `node:http` reads each of its names, one of which loads a whole other client (undici): 35 ms
 * of processor time and 10 MB per thread.
 */
export const http = process.getBuiltinModule('node:http')
