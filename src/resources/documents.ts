import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'

const PAGE_HEADERS = ['Content-Security-Policy', 'Referrer-Policy']

const OpenApi = Type.Object(
  {
    openapi: Type.Literal('3.1.0', { description: 'OpenAPI version.' }),
    info: Type.Object(
      { title: Type.String(), version: Type.String({ description: 'Version of this software.' }) },
      { additionalProperties: true, description: 'Title and version.' },
    ),
    paths: Type.Record(Type.String(), Type.Unknown(), { description: 'Operations by path and method.' }),
    components: Type.Record(Type.String(), Type.Unknown(), { description: 'Shared components.' }),
  },
  { additionalProperties: true, description: 'An OpenAPI document.' },
)

export const documents = [
  endpoint({
    name: 'documents.openapi',
    method: 'GET',
    path: '/openapi.json',
    effect: 'read',
    access: 'public',
    extension: true,
    isTagged: true,
    summary: 'This API as an OpenAPI 3.1 document',
    message: 'The document itself, without an envelope.',
    whole: OpenApi,
    handle: (ctx) => Reply.bytes(ctx.documents.openapi()),
  }),
  endpoint({
    name: 'documents.page',
    method: 'GET',
    path: '/docs',
    effect: 'read',
    access: 'public',
    extension: true,
    produces: ['text/html'],
    isTagged: true,
    sends: PAGE_HEADERS,
    summary: 'Page to read and try this API; everything is served by this daemon',
    message: 'An HTML page.',
    handle: (ctx) => Reply.bytes(ctx.documents.page('index.html')),
  }),
  endpoint({
    name: 'documents.file',
    method: 'GET',
    path: '/docs/{file}',
    effect: 'read',
    access: 'public',
    extension: true,
    produces: ['text/css', 'text/javascript'],
    isTagged: true,
    sends: PAGE_HEADERS,
    summary: 'A file of the documentation page',
    message: 'The file.',
    handle: (ctx, { params }) => Reply.bytes(ctx.documents.page(params.file)),
  }),
]
