int main(){*(int*)0=0;}
