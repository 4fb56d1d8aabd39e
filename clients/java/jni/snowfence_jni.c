/* What the JVM calls. IDs cross in a buffer of this thread, because a call may wait. */
#include <jni.h>
#include <string.h>

#include <snowfence.h>

#define CALL(type, name) JNIEXPORT type JNICALL Java_org_snowfence_Generator_##name

#define HANDLE(number) ((snowfence_t *)(uintptr_t)(number))

static jbyteArray bytes_of(JNIEnv *env, const char *text)
{
	jsize n = (jsize)strlen(text);
	jbyteArray bytes = (*env)->NewByteArray(env, n);

	if (bytes != NULL)
		(*env)->SetByteArrayRegion(env, bytes, 0, n, (const jbyte *)text);
	return bytes;
}

static int failed(JNIEnv *env, int status)
{
	char text[1024];
	jclass type;
	jmethodID make;
	jbyteArray message;
	jobject e;

	if (status == SNOWFENCE_OK)
		return 0;
	snowfence_last_error(text, sizeof text);
	if ((type = (*env)->FindClass(env, "org/snowfence/SnowfenceException")) != NULL &&
	    (make = (*env)->GetMethodID(env, type, "<init>", "(I[B)V")) != NULL &&
	    (message = bytes_of(env, text)) != NULL &&
	    (e = (*env)->NewObject(env, type, make, (jint)status, message)) != NULL)
		(*env)->Throw(env, e);
	return 1; /* with an exception, of no memory if it is not this one */
}

/* A text of Java, which ends with a zero; NULL for null. drop it. */
static char *text_of(JNIEnv *env, jbyteArray text)
{
	return text == NULL ? NULL : (char *)(*env)->GetByteArrayElements(env, text, NULL);
}

static void drop(JNIEnv *env, jbyteArray text, char *chars)
{
	if (chars != NULL)
		(*env)->ReleaseByteArrayElements(env, text, (jbyte *)chars, JNI_ABORT);
}

CALL(jlong, open0)(JNIEnv *env, jclass c, jbyteArray store, jbyteArray ns, jbyteArray options)
{
	char *s = text_of(env, store), *n = text_of(env, ns), *o = text_of(env, options);
	snowfence_t *ids = NULL;
	int status = snowfence_open(s, n, o, &ids);

	(void)c;
	drop(env, store, s), drop(env, ns, n), drop(env, options, o);
	failed(env, status);
	return (jlong)(uintptr_t)ids;
}

CALL(jlong, openStateFile0)(JNIEnv *env, jclass c, jbyteArray path, jbyteArray layout, jlong node, jbyteArray options)
{
	char *p = text_of(env, path), *l = text_of(env, layout), *o = text_of(env, options);
	snowfence_t *ids = NULL;
	int status = snowfence_open_statefile(p, l, node, o, &ids);

	(void)c;
	drop(env, path, p), drop(env, layout, l), drop(env, options, o);
	failed(env, status);
	return (jlong)(uintptr_t)ids;
}

CALL(jlong, openStatic0)(JNIEnv *env, jclass c, jbyteArray layout, jlong node, jbyteArray options)
{
	char *l = text_of(env, layout), *o = text_of(env, options);
	snowfence_t *ids = NULL;
	int status = snowfence_open_static(l, node, o, &ids);

	(void)c;
	drop(env, layout, l), drop(env, options, o);
	failed(env, status);
	return (jlong)(uintptr_t)ids;
}

/* The memory of a ring, which the JVM frees with its buffer. */
CALL(jlong, address)(JNIEnv *env, jclass c, jobject memory)
{
	(void)c;
	return (jlong)(uintptr_t)(*env)->GetDirectBufferAddress(env, memory);
}

CALL(jlong, next0)(JNIEnv *env, jclass c, jlong ring, jlong handle)
{
	int64_t id = 0;

	(void)c;
	failed(env, snowfence_ring_next((snowfence_ring_t *)(uintptr_t)ring, HANDLE(handle), &id));
	return id;
}

CALL(void, fill)(JNIEnv *env, jclass c, jlong handle, jlongArray ids)
{
	int64_t buf[SNOWFENCE_RING_MOST];
	jsize n = (*env)->GetArrayLength(env, ids), at = 0;

	(void)c;
	while (at < n) {
		jsize some = n - at < SNOWFENCE_RING_MOST ? n - at : SNOWFENCE_RING_MOST;
		if (failed(env, snowfence_fill(HANDLE(handle), buf, (size_t)some, NULL)))
			return;
		(*env)->SetLongArrayRegion(env, ids, at, some, (const jlong *)buf);
		at += some;
	}
}

CALL(void, close0)(JNIEnv *env, jclass c, jlong handle)
{
	(void)c;
	failed(env, snowfence_close(HANDLE(handle)));
}

static jlongArray parts_of(JNIEnv *env, const snowfence_parts_t *p)
{
	jlongArray out = (*env)->NewLongArray(env, 7);

	if (out != NULL)
		(*env)->SetLongArrayRegion(env, out, 0, 7, (const jlong *)p);
	return out;
}

CALL(jlongArray, decode0)(JNIEnv *env, jclass c, jbyteArray layout, jlong id)
{
	char *l = text_of(env, layout);
	snowfence_parts_t p;
	int status = snowfence_decode(l, id, &p);

	(void)c;
	drop(env, layout, l);
	return failed(env, status) ? NULL : parts_of(env, &p);
}

CALL(jlongArray, decodeOwn)(JNIEnv *env, jclass c, jlong handle, jlong id)
{
	snowfence_parts_t p;

	(void)c;
	return failed(env, snowfence_decode_own(HANDLE(handle), id, &p)) ? NULL : parts_of(env, &p);
}

CALL(jbyteArray, format0)(JNIEnv *env, jclass c, jlong id, jbyteArray encoding)
{
	char *e = text_of(env, encoding), text[SNOWFENCE_TEXT_SIZE];
	int status = snowfence_format(id, e, text, sizeof text, NULL);

	(void)c;
	drop(env, encoding, e);
	return failed(env, status) ? NULL : bytes_of(env, text);
}

CALL(jlong, parse0)(JNIEnv *env, jclass c, jbyteArray text, jbyteArray encoding)
{
	char *t = text_of(env, text), *e = text_of(env, encoding);
	int64_t id = 0;
	int status = snowfence_parse(t, e, &id);

	(void)c;
	drop(env, text, t), drop(env, encoding, e);
	failed(env, status);
	return id;
}
