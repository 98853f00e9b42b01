import { endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'

export const documents = [
  endpoint({
    name: 'documents.openapi',
    method: 'GET',
    path: '/openapi.json',
    effect: 'read',
    access: 'public',
    staged: false,
    extension: true,
    summary: 'This API as an OpenAPI 3.1 document',
    message: 'The document itself, without an envelope.',
    handle: (ctx) => Reply.bytes(ctx.documents.openapi()),
  }),
  endpoint({
    name: 'documents.page',
    method: 'GET',
    path: '/docs',
    effect: 'read',
    access: 'public',
    staged: false,
    extension: true,
    produces: ['text/html'],
    summary: 'Page to read and try this API; everything it needs comes from this daemon',
    message: 'An HTML page.',
    handle: (ctx) => Reply.bytes(ctx.documents.page('index.html')),
  }),
  endpoint({
    name: 'documents.file',
    method: 'GET',
    path: '/docs/{file}',
    effect: 'read',
    access: 'public',
    staged: false,
    extension: true,
    produces: ['text/css', 'text/javascript'],
    summary: 'A file of the documentation page',
    message: 'The file.',
    handle: (ctx, { params }) => Reply.bytes(ctx.documents.page(params.file)),
  }),
]
