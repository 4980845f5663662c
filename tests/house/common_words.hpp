// Common words that other headers make macros of, as they stand before hiway's where these come last.
#pragma once
// Qt, without QT_NO_KEYWORDS
#define slots
#define signals public
#define emit
#define foreach(a, b) for (a : b)
#define forever for (;;)
// Windows
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define NO_ERROR 0
#define DELETE 1
#define CONST const
#define TRUE 1
#define FALSE 0
// X11
#define None 0L
#define Always 2
#define Bool int
#define Status int
#define Success 0
#define True 1
#define False 0
#define Unsorted 0
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2
// libc's mathematics, system macros, and macOS' assertions
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define EMPTY 0
#define major(x) (x)
#define minor(x) (x)
#define check(x) (x)
#define verify(x) (x)
#define require(x) (x)
// curses
#define OK 0
#define ERR (-1)
