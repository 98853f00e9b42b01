/** Allocates memory that several threads read and write without copies. */
export const sharedMemory = (bytes: number): Buffer => Buffer.from(new SharedArrayBuffer(bytes))
