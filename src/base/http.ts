/**
 * Node's `http`. An import of `node:http` itself reads each of its names, one of which loads a whole other client
 * (undici): 35 ms of processor time and 10 MB for each thread.
 */
export const http = process.getBuiltinModule('node:http')
